import { defineSignal, setHandler } from '@temporalio/workflow';
import type { Asking, RunInput } from '../names.ts';
import type { Progress } from './waits.ts';

/** This run now holds the lane. */
export const proceed = defineSignal('proceed');
/** The budget that the run waits for was raised. */
export const raise = defineSignal('raise');
/** A person has decided about a call; the decision itself is in the ledger. */
export const decide = defineSignal<[call_id: string]>('decide');
/** A call in progress waits for an answer of a person, or no longer does; the question is in the ledger. */
export const asking = defineSignal<[question: Asking]>('asking');

export type Signals = ReturnType<typeof listen>;

/** The signals this run has received: that it may proceed, and which of its calls a person has decided about. */
export function listen({ queued, decided = [] }: RunInput, progress: Progress) {
  let admitted = !queued;
  let doubts = 0;
  const pending = new Set(decided);
  /** What a run does not wait for is reported to it: its record may be older. Whatever is parked is compared with the record again. */
  function doubt(): void {
    if (progress.waits.size > 0) doubts += 1;
  }
  setHandler(proceed, () => {
    if (admitted) doubt();
    admitted = true;
  });
  setHandler(decide, (call_id) => {
    const waited = [...progress.waits].some((wait) => wait.for === 'call' && wait.call_id === call_id);
    if (!waited && !progress.calls.has(call_id)) doubt();
    pending.add(call_id);
  });
  let raised = false;
  setHandler(raise, () => {
    raised = true;
  });
  return {
    admitted: () => admitted,
    doubts: () => doubts,
    take: (call_id: string) => pending.delete(call_id),
    undone: () => [...pending],
    raised: () => {
      const was = raised;
      raised = false;
      return was;
    },
  };
}
