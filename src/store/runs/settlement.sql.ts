import { statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/**
 * The fields of a webhook message. Each is an expression over `ended`, the task's final row. A new field needs one line here and
 * no migration.
 */
const MESSAGE = {
  task_id: 'ended.id',
  workflow_id: 'ended.workflow_id',
  workflow_title: 'ended.workflow_title',
  prompt: 'ended.prompt',
  response: 'ended.response',
  truncated: 'ended.truncated',
  status: 'ended.status',
  error: 'ended.error',
  error_code: 'ended.error_code',
  usage: {
    total_in: 'ended.total_in',
    total_out: 'ended.total_out',
    cost: 'ended.cost',
    cache_read: 'ended.cache_read',
    cache_write: 'ended.cache_write',
    premium_requests: 'ended.premium_requests',
    estimated: 'ended.usage_estimated',
    priced: `(ended.unpriced_models = '{}')`,
  },
  elapsed_seconds: 'round(extract(epoch FROM ended.completed_at - ended.started_at)::numeric, 3)',
  timestamp: `to_char(ended.completed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
};

interface Fields {
  [name: string]: string | Fields;
}

const json = (fields: Fields): string => {
  const pairs = Object.entries(fields).map(([name, value]) => `'${name}', ${typeof value === 'string' ? value : json(value)}`);
  return `jsonb_build_object(${pairs.join(', ')})`;
};

/**
 * Ends a task. Takes locks in the order of prisma/functions/end_task.sql, then locks the delivery, whose foreign key finds the
 * task already locked.
 */
export const settleTask = statement(
  'settle_task',
  [
    'task_id',
    'status',
    'error',
    'error_code',
    'needs_answer',
    'only_pending',
    'events',
    'outcome_unknown',
    'not_called',
    'delivery_id',
  ],
  `WITH answered AS (
      SELECT 1 WHERE (NOT :needs_answer::boolean OR NOT EXISTS (
          SELECT 1 FROM tasks WHERE id = :task_id AND status IN (${LIVE}) AND response IS NULL))
        AND (NOT :only_pending::boolean OR EXISTS (SELECT 1 FROM tasks WHERE id = :task_id AND status = 'pending'))),
    settled AS MATERIALIZED (
      SELECT ended.* FROM answered,
        LATERAL end_task(:task_id, :status, :error, :error_code, :events, :outcome_unknown, :not_called) AS ended),
    delivery AS (
      INSERT INTO webhook_deliveries (id, task_id, url, payload)
      SELECT :delivery_id, ended.id, target.url, ${json(MESSAGE)}
      FROM (SELECT (settled.ended).* FROM settled) AS ended JOIN definitions d ON d.hash = ended.definition_hash,
        LATERAL (SELECT d.body -> 'webhooks' ->> CASE WHEN ended.status = 'completed' THEN 'completed' ELSE 'error' END AS url) AS target
      WHERE target.url IS NOT NULL AND ended.trigger <> 'evaluation' RETURNING id)
    SELECT next_task AS next, told_workflow AS workflow_id, told_last AS last,
      coalesce((SELECT id FROM delivery), pending_webhook(:task_id)) AS webhook,
      (SELECT definition_hash FROM tasks WHERE id = :task_id) AS definition_hash,
      (ended).trigger AS trigger, extract(epoch FROM (ended).completed_at - (ended).created_at)::float8 AS seconds
    FROM settled`,
);
