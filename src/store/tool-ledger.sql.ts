/* In each: $1 task, $2 workflow, $3 call, the last one the events. Locks in the order of runs.sql.ts. */

export const OPEN_CALL = {
  name: 'open_call',
  text: `SELECT c.task_id, c.call_id, c.step, c.position, c.name, c.arguments, c.effect, c.approval, c.status, c.attempts, c.errors,
      c.decision, t.workflow_id, t.owner, t.owner_login, t.definition_hash, t.turns, t.status AS task_status, t.toolset
    FROM tool_calls c JOIN tasks t ON t.id = c.task_id WHERE c.task_id = $1 AND c.call_id = $2`,
};

/** A run goes on when the last of its calls that waited for a person goes on. */
const RESUME = `
  resumed AS (
    UPDATE workflows SET status = 'running' WHERE id = $2 AND active_task_id = $1 AND status = 'waiting'
      AND NOT EXISTS (SELECT 1 FROM tool_calls o WHERE o.task_id = $1 AND o.call_id <> $3 AND o.status LIKE 'waiting%') RETURNING 1),
  run AS (
    UPDATE tasks SET status = 'running' WHERE id = $1 AND status = 'waiting'
      AND NOT EXISTS (SELECT 1 FROM tool_calls o WHERE o.task_id = $1 AND o.call_id <> $3 AND o.status LIKE 'waiting%') RETURNING 1)`;
const RESUMED = '(SELECT count(*) FROM resumed) + (SELECT count(*) FROM run) >= 0';

export const START_CALL = {
  name: 'start_call',
  text: `WITH ${RESUME},
    call AS (
      UPDATE tool_calls SET status = 'started', attempts = attempts + 1, started_at = now(), decision = NULL
      WHERE task_id = $1 AND call_id = $3 AND attempts = $4 AND status NOT IN ('done', 'denied') RETURNING 1)
    SELECT append_events($2, $1, $5) AS last FROM call WHERE ${RESUMED}`,
};

export const END_CALL = {
  name: 'end_call',
  text: `WITH ${RESUME},
    call AS (
      UPDATE tool_calls SET status = CASE WHEN $6 = 'denial' THEN 'denied' ELSE 'done' END, failed = $8, stdout = $9, stderr = $10,
        duration_ms = $11, ended_at = now(), decision = NULL
      WHERE task_id = $1 AND call_id = $3 AND status NOT IN ('done', 'denied') RETURNING 1),
    message AS (
      INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id)
      SELECT $1, $4, $5, 'tool', $6, $7, $3 FROM call ON CONFLICT DO NOTHING)
    SELECT append_events($2, $1, $12) AS last FROM call WHERE ${RESUMED}`,
};

export const PARK_CALL = {
  name: 'park_call',
  text: `WITH lane AS (UPDATE workflows SET status = 'waiting' WHERE id = $2 AND active_task_id = $1 AND status = 'running' RETURNING 1),
    run AS (UPDATE tasks SET status = 'waiting' WHERE id = $1 AND status IN ('pending', 'running') RETURNING 1),
    call AS (
      UPDATE tool_calls SET status = $4 WHERE task_id = $1 AND call_id = $3 AND status NOT IN ('done', 'denied') AND status <> $4 RETURNING 1)
    SELECT append_events($2, $1, $5) AS last FROM call WHERE (SELECT count(*) FROM lane) + (SELECT count(*) FROM run) >= 0`,
};

export const RELEASE_CALL = {
  name: 'release_call',
  text: `WITH call AS (
      UPDATE tool_calls SET status = 'planned', errors = errors + 1 WHERE task_id = $1 AND call_id = $3 AND status = 'started' RETURNING 1)
    SELECT append_events($2, $1, $4) AS last FROM call`,
};

export const SET_TODOS = {
  name: 'set_todos',
  text: `WITH run AS (UPDATE tasks SET todos = $4::jsonb WHERE id = $1 AND $3::text IS NOT NULL RETURNING 1)
    SELECT append_events($2, $1, $5) AS last FROM run`,
};

export const DECIDE_CALL = {
  name: 'decide_call',
  text: `UPDATE tool_calls SET decision = $4, decided_by = $5 WHERE task_id = $1 AND call_id = $2 AND status = $3 AND decision IS NULL RETURNING 1 AS ok`,
};

export const UNDECIDE_CALL = {
  name: 'undecide_call',
  text: `UPDATE tool_calls SET decision = NULL WHERE task_id = $1 AND call_id = $2 AND status LIKE 'waiting%' RETURNING 1 AS ok`,
};
