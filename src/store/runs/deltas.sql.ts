import { statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/** Events of the attempt that owns the step. Synchronous commit: after a crash no event number may be reused. */
export const appendDeltas = statement(
  'append_deltas',
  ['task_id', 'workflow_id', 'step', 'attempt', 'events'],
  `SELECT append_events(:workflow_id, :task_id, :events) AS last FROM (
      SELECT 1 FROM tasks t JOIN task_steps s ON s.task_id = t.id
      WHERE t.id = :task_id AND t.status IN (${LIVE}) AND s.step = :step AND s.attempts = :attempt AND s.ended_at IS NULL
      FOR SHARE OF t, s) AS mine`,
);

/** Texts of many runs at once; the rows say which were written, and under which number. */
export const appendTexts = statement('append_texts', ['texts'], 'SELECT ord, last FROM append_texts(:texts)');

export const appendText = statement(
  'append_text',
  ['task_id', 'workflow_id', 'step', 'attempt', 'after', 'event'],
  'SELECT append_text(:task_id, :workflow_id, :step, :attempt, :after, :event) AS last',
);
