import { eventsOf } from '../domain/events.ts';
import { storable } from '../domain/transcript.ts';
import type { RunStore, Settled } from '../store/runs.ts';
import type { FinalState } from './names.ts';

/** Sets a task's final state, once, and passes its lane on to the task `next`. `webhook` is the message to deliver. */
export type Settle = (task_id: string, end: FinalState) => Promise<Settled>;

export const settler =
  ({ runs, now }: { runs: Pick<RunStore, 'settle'>; now(): string }): Settle =>
  (task_id, { status, error, error_code, turns }) => {
    const { log, status: changed } = eventsOf(task_id, now);
    const reason = error === null ? null : storable(error);
    const ended =
      status === 'failed'
        ? log('error', reason ?? 'failed', { error_code })
        : log(status, status === 'halted' ? 'Halted by a person' : 'The run is complete');
    const events = [ended, changed(status, turns, reason === null ? {} : { error: reason, error_code })];
    return runs.settle(task_id, { status, error: reason, error_code, needs_answer: status === 'completed', events });
  };
