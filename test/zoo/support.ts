import { fileURLToPath } from 'node:url';
import type { TestInstallation } from '../support/installation.ts';

export const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** A tool that looks whatever the weather is. */
const LOOK = "EFFECT = 'read'\n\ndef look(city: str) -> str:\n    return f'Snow in {city}.'\n";

/** What a person does with an endpoint: providers, agents with a tool, prompts. */
export function personAt({ alice, ...here }: TestInstallation) {
  let look: Promise<string> | undefined;
  async function makeLook(): Promise<string> {
    return (await alice.ok(alice.post('/api/custom-tools', { name: 'look', source_code: LOOK }), 201)).id;
  }
  return {
    async provider(values: { name: string; base_url: string; [field: string]: unknown }): Promise<string> {
      const provider = { provider_type: 'openai_compatible', default_model: 'tiny', ...values };
      return (await alice.ok(alice.post('/api/providers', provider), 201)).id;
    },
    /** Stores a token, for the key of a provider. */
    async token(name: string, value: string): Promise<string> {
      await alice.ok(alice.post('/api/tokens', { name, value }), 201);
      return name;
    },
    /** Returns the tool `look` as a part of an agent. */
    async withLook(): Promise<{ custom_tool_ids: string[] }> {
      look ??= makeLook();
      return { custom_tool_ids: [await look] };
    },
    async run(prompt: string, agent: object, workflow: object = {}): Promise<Record<string, any>> {
      return here.ended(await here.prompt(await here.workflow({ agent, workflow }), prompt), 60_000);
    },
  };
}

/** Returns what the messages of a task say that have this role. */
export const textsOf = (task: Record<string, any>, role: string): string[] =>
  task.messages.filter((message: { role: string }) => message.role === role).map(({ content }: { content: string }) => content);

/** Returns the names of what a task has logged, each once. */
export const logsOf = (task: Record<string, any>): string[] => [
  ...new Set<string>(task.logs.map(({ event }: { event: string }) => event)),
];
