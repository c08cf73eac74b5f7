import { eventsOf } from '../../domain/events.ts';
import { storable } from '../../domain/transcript.ts';
import type { RunStore, Settled } from '../../store/runs.ts';
import type { FinalState } from '../names.ts';

export interface FinishPorts {
  runs: RunStore;
  /** Breaks off what other activities of the task still do. */
  halt(task_id: string): Promise<void>;
  now(): string;
}

/** Puts a task into its final state, once, and hands its lane on. */
export const finishActivity =
  ({ runs, halt, now }: FinishPorts) =>
  async (task_id: string, { status, error, error_code, turns }: FinalState): Promise<Settled> => {
    const { log, status: changed } = eventsOf(task_id, now);
    const reason = error === null ? null : storable(error);
    const told =
      status === 'failed'
        ? log('error', reason ?? 'failed', { error_code })
        : log(status, status === 'halted' ? 'Halted by a person' : 'The run is complete');
    const events = [told, changed(status, turns, reason === null ? {} : { error: reason, error_code })];
    const settled = await runs.settle(task_id, { status, error: reason, error_code, events });
    if (status === 'failed') await halt(task_id);
    return settled;
  };
