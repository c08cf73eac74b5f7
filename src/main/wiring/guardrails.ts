import type { ChatServices } from '../../api/routes/chat.ts';
import type { Definition } from '../../domain/definition.ts';
import { unprocessable } from '../../domain/errors.ts';
import { withoutFence } from '../../domain/transcript.ts';
import { holdsBack, type Judge } from '../../guardrails/judge.ts';
import type { DispatchOptions } from '../../temporal/start/dispatch.ts';
import type { SharedServices } from '../core.ts';

/** Why the guardrails of a run refuse a prompt; null if they accept it. */
export const promptRefusal =
  (judge: Judge): DispatchOptions['refusalOf'] =>
  ({ guardrails = [] }, prompt, owner) =>
    judge.refusalOf(guardrails, prompt, owner);

/** Judges the texts of a run's model. */
export const outputGuardsOf = (judge: Judge) => ({
  judge: ({ guardrails = [] }: Definition, text: string, facts: { final: boolean; owner: string }) =>
    judge.verdictOf(guardrails, text, facts),
  holdsBack: ({ guardrails = [] }: Definition) => holdsBack(guardrails),
  answerFaults: async ({ output_schema }: Definition, text: string, owner: string) =>
    output_schema ? judge.answerFaults(output_schema, withoutFence(text), owner) : [],
});

/** Refuses a chat message that the caller's workflows with this agent would refuse as a prompt. */
export const chatGuardOf =
  ({ store, judge }: Pick<SharedServices, 'store' | 'judge'>): ChatServices['guard'] =>
  async (text, agent, caller) => {
    const refused = await judge.refusalOf(await store.chatGuardrails(agent.id, caller.key), text, caller.key);
    if (refused) throw unprocessable([{ path: 'message', message: refused.message }], refused.code);
  };
