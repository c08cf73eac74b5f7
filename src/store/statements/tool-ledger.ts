import { LIVE } from './runs.ts';

/* In each: $1 task, $2 workflow, $3 call, the last one the events. Locks in the order of runs.ts. */

export const OPEN_CALL = {
  name: 'open_call',
  text: `SELECT c.task_id, c.call_id, c.step, c.position, c.name, c.arguments, c.effect, c.approval, c.status, c.attempts, c.errors,
      c.decision, t.workflow_id, t.owner, t.owner_login, t.definition_hash, t.turns, t.status AS task_status, t.halt_requested, t.toolset,
      CASE WHEN t.fork_step IS NOT NULL THEN json_build_object('task_id', t.forked_from, 'step', t.fork_step, 'effects', t.fork_effects) END AS fork
    FROM tool_calls c JOIN tasks t ON t.id = c.task_id WHERE c.task_id = $1 AND c.call_id = $2`,
};

/* A call moves on only from where its attempt saw it, and only while its task lives: $4 status and $5 attempts are what was seen. */
const LIVE_TASK = `live AS (SELECT 1 FROM tasks WHERE id = $1 AND status IN (${LIVE}) FOR SHARE)`;
const SEEN = 'task_id = $1 AND call_id = $3 AND status = $4 AND attempts = $5 AND EXISTS (SELECT 1 FROM live)';

export const START_CALL = {
  name: 'start_call',
  text: `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET status = 'started', attempts = attempts + 1, started_at = now(), decision = NULL WHERE ${SEEN} RETURNING 1)
    SELECT append_events($2, $1, $6) AS last FROM call`,
};

export const END_CALL = {
  name: 'end_call',
  text: `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET status = CASE WHEN $8 = 'denial' THEN 'denied' ELSE 'done' END, failed = $10, stdout = $11, stderr = $12,
        duration_ms = $13, ended_at = now(), decision = NULL
      WHERE ${SEEN} RETURNING 1),
    message AS (
      INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id)
      SELECT $1, $6, $7, 'tool', $8, $9, $3 FROM call ON CONFLICT DO NOTHING)
    SELECT append_events($2, $1, $14) AS last FROM call`,
};

/** A call of a fork that is answered instead of being begun. */
export const ANSWER_CALL = {
  name: 'answer_call',
  text: `WITH ${LIVE_TASK},
    call AS (UPDATE tool_calls SET status = 'done', failed = $9, answered_by = $10, ended_at = now() WHERE ${SEEN} RETURNING 1),
    message AS (
      INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id)
      SELECT $1, $6, $7, 'tool', 'result', $8, $3 FROM call ON CONFLICT DO NOTHING)
    SELECT append_events($2, $1, $11) AS last FROM call`,
};

export const PARK_CALL = {
  name: 'park_call',
  text: `WITH fresh AS (SELECT 1 FROM tool_calls WHERE task_id = $1 AND call_id = $3 AND status = $4 AND attempts = $5),
    lane AS (
      UPDATE workflows SET status = 'waiting' WHERE id = $2 AND active_task_id = $1 AND status = 'running'
        AND EXISTS (SELECT 1 FROM fresh) RETURNING 1),
    live AS (
      UPDATE tasks SET status = 'waiting' WHERE id = $1 AND status IN (${LIVE}) AND EXISTS (SELECT 1 FROM fresh)
        AND (SELECT count(*) FROM lane) >= 0 RETURNING 1),
    call AS (UPDATE tool_calls SET status = $6 WHERE ${SEEN} AND status <> $6 RETURNING 1)
    SELECT append_events($2, $1, $7) AS last FROM call`,
};

/** A run goes on when the last of its calls that waited for a person goes on. A statement of its own, so that it sees the others' moves. */
export const RESUME = {
  name: 'resume_run',
  text: `WITH quiet AS (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tool_calls WHERE task_id = $1 AND status LIKE 'waiting%')),
    lane AS (
      UPDATE workflows SET status = 'running' WHERE id = $2 AND active_task_id = $1 AND status = 'waiting'
        AND EXISTS (SELECT 1 FROM quiet) RETURNING 1),
    run AS (
      UPDATE tasks SET status = 'running' WHERE id = $1 AND status = 'waiting' AND EXISTS (SELECT 1 FROM quiet)
        AND (SELECT count(*) FROM lane) >= 0 RETURNING 1)
    SELECT append_events($2, $1, $4) AS last FROM run WHERE $3::text IS NOT NULL`,
};

export const RELEASE_CALL = {
  name: 'release_call',
  text: `WITH ${LIVE_TASK},
    call AS (UPDATE tool_calls SET status = 'planned', errors = errors + 1 WHERE ${SEEN} RETURNING 1)
    SELECT append_events($2, $1, $6) AS last FROM call`,
};

/** Nothing is told of a call that has ended. */
export const TELL_CALL = {
  name: 'tell_call',
  text: `SELECT append_events($2, $1, $4) AS last FROM (
      SELECT 1 FROM tool_calls WHERE task_id = $1 AND call_id = $3 AND status = 'started' FOR SHARE) AS call`,
};

export const SET_TODOS = {
  name: 'set_todos',
  text: `WITH run AS (UPDATE tasks SET todos = $4::jsonb WHERE id = $1 AND status IN (${LIVE}) AND $3::text IS NOT NULL RETURNING 1)
    SELECT append_events($2, $1, $5) AS last FROM run`,
};

/** $7: only an attempt of this number; null for a person. */
export const DECIDE_CALL = {
  name: 'decide_call',
  text: `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET decision = $5, decided_by = $6
      WHERE task_id = $1 AND call_id = $3 AND status = $4 AND decision IS NULL AND ($7::int IS NULL OR attempts = $7)
        AND EXISTS (SELECT 1 FROM live) RETURNING 1)
    SELECT append_events($2, $1, $8) AS last FROM call`,
};
