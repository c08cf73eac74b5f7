import type { Definition } from '../../domain/definition.ts';
import { findJsonText } from '../../domain/json-answers.ts';
import { holdsBack, type Judge } from '../../guardrails/judge.ts';
import type { DispatchOptions } from '../../temporal/start/dispatch.ts';

/** Returns the reason why the guardrails of a run refuse a prompt; null if they accept it. */
export const createPromptCheck =
  (judge: Judge): DispatchOptions['findRefusal'] =>
  ({ guardrails = [] }, prompt, owner) =>
    judge.findRefusal(guardrails, prompt, owner);

/** Judges the texts of a run's model. */
export const createOutputGuards = (judge: Judge) => ({
  judge: ({ guardrails = [] }: Definition, text: string, facts: { final: boolean; owner: string }) =>
    judge.judgeAnswer(guardrails, text, facts),
  holdsBack: ({ guardrails = [] }: Definition) => holdsBack(guardrails),
  listOutputErrors: async ({ output_schema }: Definition, text: string, owner: string) =>
    output_schema ? judge.listOutputErrors(output_schema, findJsonText(text), owner) : [],
});
