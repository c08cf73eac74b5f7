import type { InboxItem, InboxKind } from '../../contracts/inbox.ts';
import { shortenPrompt } from '../ui/prompt.ts';

/** What each kind of decision is called in lists. */
export const KIND_NAMES: Record<InboxKind, string> = {
  approval: 'approval',
  question: 'question',
  client: 'result of the client',
  reconciliation: 'reconciliation',
  budget: 'budget',
  behind: 'after a restore',
};

/** Returns the question that a person is asked, as a sentence. */
export function toReason({ kind, tool, question }: Pick<InboxItem, 'kind' | 'tool' | 'question'>): string {
  if (kind === 'approval') return `Approve the call to ${tool}?`;
  if (kind === 'question') return `${tool} asks: ${question!.message}`;
  if (kind === 'client') return `The program that sent the prompt has to send the result of the call to ${tool}.`;
  if (kind === 'reconciliation') return `Did the call to ${tool} take effect?`;
  if (kind === 'behind') return 'The installation was restored. Resume the run from its record?';
  return 'A budget is used up, or a model has no price. Open the run to see what to do.';
}

/** Returns the name of a decision among those of a list, for screen readers. */
export const nameItem = ({ tool, kind, prompt }: Pick<InboxItem, 'tool' | 'kind' | 'prompt'>) =>
  `${tool ?? KIND_NAMES[kind]} of ${shortenPrompt(prompt, 60)}`;
