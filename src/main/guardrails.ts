import type { ChatServices } from '../api/chat.ts';
import type { Definition } from '../domain/definition.ts';
import { unprocessable } from '../domain/errors.ts';
import { holdsBack, refusalOf, verdictOf } from '../guardrails/judge.ts';
import type { Core } from './core.ts';

/** Why the guardrails of a run do not let a prompt in; null when they do. */
export const promptRefusal = ({ guardrails = [] }: Definition, prompt: string) => refusalOf(guardrails, prompt);

/** How the texts of a run's model are judged. */
export const outputGuards = {
  judge: ({ guardrails = [] }: Definition, text: string, facts: { final: boolean }) => verdictOf(guardrails, text, facts),
  holdsBack: ({ guardrails = [] }: Definition) => holdsBack(guardrails),
};

/** Refuses a chat message as the workflows that the caller has with the agent would refuse it as a prompt. */
export const chatGuardOf =
  ({ store }: Pick<Core, 'store'>): ChatServices['guard'] =>
  async (text, agent, caller) => {
    const refused = refusalOf(await store.chatGuardrails(agent.id, caller.key), text);
    if (refused) throw unprocessable([{ path: 'message', message: refused }], 'guardrail_blocked');
  };
