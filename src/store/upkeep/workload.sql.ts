import { statement } from '../database/statement.ts';
import { LIVE } from '../runs/runs.sql.ts';

/** Returns the unfinished work: runs, calls that wait for a person or a client, and webhooks. Ages are in seconds. */
export const readWorkload = statement(
  'read_workload',
  [],
  `SELECT
      coalesce((SELECT json_agg(live) FROM (
        SELECT status, trigger, count(*)::int AS count, extract(epoch FROM now() - min(created_at))::float8 AS oldest
        FROM tasks WHERE status IN (${LIVE}) GROUP BY status, trigger) AS live), '[]'::json) AS runs,
      coalesce((SELECT json_agg(parked) FROM (
        SELECT c.status, count(*)::int AS count FROM tasks t JOIN tool_calls c ON c.task_id = t.id
        WHERE t.status = 'waiting'
          AND c.status IN ('waiting_approval', 'waiting_reconciliation', 'waiting_answer', 'waiting_client')
        GROUP BY c.status) AS parked),
        '[]'::json) AS calls,
      due.count AS webhooks, due.oldest AS oldest_webhook,
      (SELECT count(*)::int FROM audit_queue) AS unsent_audit
    FROM (SELECT count(*)::int AS count, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest
      FROM webhook_deliveries WHERE status = 'pending') AS due`,
);

/** The most error codes, and the most runs of each, that are listed. */
const MOST_CODES = 20;
const MOST_RUNS = 5;

export const readFailures = statement(
  'read_failures',
  ['hours'],
  `SELECT error_code, count(*)::int AS runs, max(completed_at) AS last_at,
      json_agg(json_build_object('task_id', id, 'owner', owner, 'login', owner_login,
        'at', to_char(completed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) ORDER BY age)
        FILTER (WHERE age <= ${MOST_RUNS}) AS newest
    FROM (SELECT id, owner, owner_login, error_code, completed_at,
        row_number() OVER (PARTITION BY error_code ORDER BY completed_at DESC, id DESC) AS age
      FROM tasks WHERE completed_at > now() - make_interval(hours => :hours::int) AND status = 'failed' AND error_code IS NOT NULL) AS failed
    GROUP BY error_code ORDER BY last_at DESC, error_code LIMIT ${MOST_CODES}`,
);
