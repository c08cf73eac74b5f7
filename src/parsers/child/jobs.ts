import type { ArgumentsOrder } from './arguments.ts';
import type { DocumentOrder } from './documents.ts';
import type { GuardrailConfig } from './guardrail-checks.ts';
import type { OutputOrder } from './output.ts';

/** All jobs that a parser process can run, by name. A process loads a library when it first needs it. */
export const jobs = {
  prompt: async (order: { config: GuardrailConfig; text: string }) => (await import('./guardrail-checks.ts')).checkPrompt(order),
  request: async (order: { config: GuardrailConfig; text: string }) =>
    (await import('./guardrail-checks.ts')).checkRequest(order),
  answer: async (order: { config: GuardrailConfig; text: string }) => (await import('./guardrail-checks.ts')).checkAnswer(order),
  config: async (config: Record<string, unknown>) => (await import('./guardrail-checks.ts')).listConfigFaults(config),
  output: async (order: OutputOrder) => (await import('./output.ts')).listOutputErrors(order),
  outputSchema: async (schema: Record<string, unknown>) => (await import('./output.ts')).findOutputSchemaError(schema),
  schemas: async (schemas: readonly unknown[]) => (await import('./schema.ts')).listSchemaErrors(schemas),
  arguments: async (order: ArgumentsOrder) => (await import('./arguments.ts')).fitArguments(order),
  page: async (html: string) => (await import('./html.ts')).pageText(html),
  document: async (order: DocumentOrder) => (await import('./documents.ts')).readDocument(order),
};

export type Jobs = typeof jobs;
