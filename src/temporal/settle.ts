import { eventsOf } from '../domain/events.ts';
import { storable } from '../domain/transcript.ts';
import type { RunStore, Settled } from '../store/runs.ts';
import type { FinalState } from './names.ts';

/** Puts a task into its final state, once, and hands its lane on; `next` has it then, and `webhook` is to be delivered. */
export type Settle = (task_id: string, end: FinalState) => Promise<Settled>;

export const settler =
  ({ runs, now }: { runs: Pick<RunStore, 'settle'>; now(): string }): Settle =>
  (task_id, { status, error, error_code, turns }) => {
    const { log, status: changed } = eventsOf(task_id, now);
    const reason = error === null ? null : storable(error);
    const told =
      status === 'failed'
        ? log('error', reason ?? 'failed', { error_code })
        : log(status, status === 'halted' ? 'Halted by a person' : 'The run is complete');
    const events = [told, changed(status, turns, reason === null ? {} : { error: reason, error_code })];
    return runs.settle(task_id, { status, error: reason, error_code, events });
  };
