import { storable } from '../../domain/transcript.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { RunStore } from '../../store/runs/runs.ts';
import type { Settled } from '../../store/runs/settlement.ts';
import type { FinalState } from '../names.ts';

/** Sets a task's final state, once, and passes its lane on to the task `next`. `webhook` is the message to deliver. */
export type Settle = (task_id: string, end: FinalState, only?: { only_pending: boolean }) => Promise<Settled>;

interface SettlePorts {
  runs: Pick<RunStore, 'settle'>;
  now(): string;
  /** Called once for each task. */
  onEnd?(end: { status: FinalState['status']; trigger: string; seconds: number }): void;
}

export const settler =
  ({ runs, now, onEnd = () => {} }: SettlePorts): Settle =>
  async (task_id, { status, error, error_code, turns }, { only_pending } = { only_pending: false }) => {
    const { log, status: createStatusEvent } = createTaskEvents(task_id, now);
    const reason = error === null ? null : storable(error);
    const ended =
      status === 'failed'
        ? log('error', reason!, { error_code })
        : log(status, status === 'halted' ? (reason ?? 'Halted by a person') : 'The run is complete');
    const events = [ended, createStatusEvent(status, turns, reason === null ? {} : { error: reason, error_code })];
    const settlement = await runs.settle(task_id, {
      status,
      error: reason,
      error_code,
      needs_answer: status === 'completed',
      only_pending,
      events,
    });
    if (settlement.ended) onEnd({ status, ...settlement.ended });
    return settlement;
  };
