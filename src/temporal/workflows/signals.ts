import { defineSignal, setHandler } from '@temporalio/workflow';
import type { Asking, RunInput } from '../names.ts';
import type { Progress } from './waits.ts';

/** Signals that this run now holds the lane. */
export const proceed = defineSignal('proceed');
/** Signals that the budget which the run waits for was raised. */
export const raise = defineSignal('raise');
/** Signals that a person has decided about a call; the decision itself is in the ledger. */
export const decide = defineSignal<[call_id: string]>('decide');
/** Signals that a call in progress waits for a person's answer, or no longer does; the question is in the ledger. */
export const asking = defineSignal<[question: Asking]>('asking');

export type Signals = ReturnType<typeof listen>;

/** Collects the signals of this run: permission to proceed, and the calls that a person has decided about. */
export function listen({ queued, decided = [] }: RunInput, progress: Progress) {
  let admitted = !queued;
  let doubt_count = 0;
  const pending = new Set(decided);
  /**
   * Counts a signal that the run does not wait for: its record may be older. Everything parked is then compared with the record
   * again.
   */
  function doubt(): void {
    if (progress.waits.size > 0) doubt_count += 1;
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
    isAdmitted: () => admitted,
    countDoubts: () => doubt_count,
    take: (call_id: string) => pending.delete(call_id),
    listPending: () => [...pending],
    takeRaise: () => {
      const was = raised;
      raised = false;
      return was;
    },
  };
}
