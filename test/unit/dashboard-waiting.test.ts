import { expect, it } from 'vitest';
import { INBOX_KINDS } from '../../src/contracts/inbox.ts';
import { toReason } from '../../src/dashboard/inbox/reasons.ts';

it.each([
  ['approval', 'Approve the call to pay?'],
  ['question', 'pay asks: Which month?'],
  ['client', 'The program that sent the prompt has to send the result of the call to pay.'],
  ['reconciliation', 'Did the call to pay take effect?'],
  ['budget', 'A budget is used up, or a model has no price. Open the run to see what to do.'],
  ['behind', 'The installation was restored. Resume the run from its record?'],
] as const)('the reason of a run that waits for %s is a sentence', (kind, sentence) => {
  expect(INBOX_KINDS).toContain(kind);
  expect(toReason({ kind, tool: 'pay', question: { message: 'Which month?' } as never })).toBe(sentence);
});
