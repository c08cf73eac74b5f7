import { v7 as uuid } from 'uuid';
import type { TerminalStatus } from '../../domain/statuses.ts';
import { NOT_CALLED, OUTCOME_UNKNOWN } from '../../domain/transcript.ts';
import type { NewEvent } from '../../events/task-events.ts';
import { type Queryable, row } from '../database/database.ts';
import { settleTask } from './settlement.sql.ts';

/** Publishes events after they are written; `last` is the number of the last of them. */
export type Publish = (workflow_id: string, task_id: string, batch: { events: NewEvent[]; last: number }) => void;

interface Settlement {
  status: TerminalStatus;
  /** True to refuse to end the task before its final answer is on record. */
  needs_answer?: boolean;
  /** True to refuse to end a task that has begun. */
  only_pending?: boolean;
  error: string | null;
  error_code: string | null;
  events: NewEvent[];
}

export interface Settled {
  /** The task that now holds the lane. */
  next: string | null;
  /** The webhook delivery that the task's end created. */
  webhook: string | null;
  /** The hash of the task's definition; null if the task was deleted. */
  definition_hash: string | null;
  /** The task that this call ended; null if it had ended before. */
  ended: { trigger: string; seconds: number } | null;
  /** Set if nothing was written: the final answer is not on record, or the task has begun. */
  unanswered?: true;
}

interface SettledRow extends Omit<Settled, 'ended'> {
  workflow_id: string;
  last: number | null;
  trigger: string | null;
  seconds: number | null;
}

/** Ends a task once and passes its lane on. Returns the next task's id, and the webhook delivery to send. */
export const createSettle =
  (pool: Queryable, publish: Publish) =>
  async (
    task_id: string,
    { status, error, error_code, needs_answer = false, only_pending = false, events }: Settlement,
  ): Promise<Settled> => {
    const query = settleTask({
      task_id,
      status,
      error,
      error_code,
      needs_answer,
      only_pending,
      events: JSON.stringify(events),
      delivery_id: uuid(),
      outcome_unknown: OUTCOME_UNKNOWN,
      not_called: NOT_CALLED,
    });
    const settled_row = await row<SettledRow>(pool, query);
    if (!settled_row) return { next: null, webhook: null, definition_hash: null, ended: null, unanswered: true };
    const { last, workflow_id, next, webhook, definition_hash, trigger, seconds } = settled_row;
    if (last) publish(workflow_id, task_id, { events, last });
    return { next, webhook, definition_hash, ended: trigger === null ? null : { trigger, seconds: seconds! } };
  };
