export type { Statement } from '../database.ts';

/** What a task is while a run is to work on it. */
export const LIVE = `'pending', 'running', 'waiting'`;

/*
 * Lock order. Every statement and database function locks rows in this order: workflows, tasks, task_steps and tool_calls,
 * event_sequences. A workflow is locked FOR NO KEY UPDATE, never FOR UPDATE: inserting an event checks its foreign key with
 * FOR KEY SHARE on the workflow, after the task is locked. A data-modifying WITH runs when it is read, so a statement reads
 * the counts of those that must come before append_events. test/api/locks.test.ts holds every function to this order.
 */

export const OPEN = {
  name: 'open_run',
  text: `SELECT t.id AS task_id, t.workflow_id, t.owner, t.owner_login, t.prompt, t.status, t.halt_requested, t.definition_hash, t.cursor, t.toolset,
      t.turns, t.started_at, t.budget, t.caller_token, t.caller_key_id,
      t.total_in, t.total_out, t.cache_read, t.cache_write, t.cost, t.premium_requests,
      coalesce(s.attempts, 0) AS attempts, coalesce(s.errors, 0) AS errors, s.ended_at IS NOT NULL AS recorded,
      coalesce((SELECT json_agg(json_build_object('step', m.step, 'position', m.position, 'role', m.role, 'kind', m.kind,
          'content', m.content, 'tool_calls', m.tool_calls, 'call_id', m.call_id, 'extra', m.extra) ORDER BY m.step, m.position)
        FROM task_messages m WHERE m.task_id = t.id), '[]'::json) AS messages,
      coalesce((SELECT json_agg(json_build_object('call_id', c.call_id, 'name', c.name) ORDER BY c.position)
        FROM tool_calls c WHERE c.task_id = t.id AND c.step = $2), '[]'::json) AS calls
    FROM tasks t LEFT JOIN task_steps s ON s.task_id = t.id AND s.step = $2
    WHERE t.id = $1`,
};

export const MESSAGES = `task_messages (task_id, step, position, role, kind, content, tool_calls, call_id, extra)`;
export const messagesFrom = (
  json: string,
) => `SELECT $1::uuid, m.step, m.position, m.role, m.kind, m.content, m.tool_calls, m.call_id, m.extra
  FROM jsonb_to_recordset(${json}::jsonb) AS m
    (step int, position int, role text, kind text, content text, tool_calls jsonb, call_id text, extra jsonb)`;

/**
 * The attempt that began last owns its step: what an earlier one, stopped and taken for lost, still writes finds its number
 * outdated. The check is made under the row's lock, so that nothing of the earlier one comes after the later one's beginning.
 */
export const BEGIN = {
  name: 'begin_step',
  text: `WITH fresh AS (
      SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM task_steps WHERE task_id = $1 AND step = $3 AND (attempts <> $8 OR ended_at IS NOT NULL))),
    lane AS (
      UPDATE workflows SET status = 'running', current_turn = $4
      WHERE id = $2 AND active_task_id = $1 AND status <> 'inactive' AND (status <> 'running' OR current_turn <> $4)
        AND EXISTS (SELECT 1 FROM fresh) RETURNING 1),
    run AS (
      UPDATE tasks SET status = 'running', started_at = coalesce(started_at, now()), turns = $4, steps = $3,
        turn_limit_reached = turn_limit_reached OR cardinality($5::text[]) > 0
      WHERE id = $1 AND status IN (${LIVE}) AND EXISTS (SELECT 1 FROM fresh) AND (SELECT count(*) FROM lane) >= 0 RETURNING 1),
    step AS (
      INSERT INTO task_steps AS s (task_id, step, attempts) SELECT $1, $3, 1 FROM run
      ON CONFLICT (task_id, step) DO UPDATE SET attempts = s.attempts + 1 WHERE s.attempts = $8 AND s.ended_at IS NULL RETURNING 1),
    denials AS (
      UPDATE tool_calls SET status = 'denied', failed = true, ended_at = now()
      WHERE task_id = $1 AND call_id = ANY ($5) AND EXISTS (SELECT 1 FROM step)),
    messages AS (INSERT INTO ${MESSAGES} ${messagesFrom('$6')} WHERE EXISTS (SELECT 1 FROM step) ON CONFLICT DO NOTHING)
    SELECT append_events($2, $1, $7) AS last FROM step`,
};

export const RECORD = {
  name: 'record_reply',
  text: `WITH live AS (SELECT 1 FROM tasks WHERE id = $1 AND status IN (${LIVE}) FOR NO KEY UPDATE),
    claim AS (
      UPDATE task_steps SET ended_at = now(), model = $4, finish = $5, error = NULL,
        total_in = $6, total_out = $7, cache_read = $8, cache_write = $9, cost = $10
      WHERE task_id = $1 AND step = $3 AND attempts = $16 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM live) RETURNING 1),
    run AS (
      UPDATE tasks SET total_in = total_in + $6, total_out = total_out + $7, cache_read = cache_read + $8,
        cache_write = cache_write + $9, cost = cost + $10, model = coalesce(tasks.model, $4), cursor = $13::jsonb,
        response = coalesce($14::jsonb, response)
      WHERE id = $1 AND EXISTS (SELECT 1 FROM claim) RETURNING 1),
    message AS (INSERT INTO ${MESSAGES} ${messagesFrom('$11')} WHERE EXISTS (SELECT 1 FROM claim) ON CONFLICT DO NOTHING),
    calls AS (
      INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, approval)
      SELECT $1, c.call_id, $3, c.position, c.name, c.arguments, c.effect, c.approval
      FROM jsonb_to_recordset($12::jsonb) AS c (call_id text, position int, name text, arguments text, effect text, approval boolean)
      WHERE EXISTS (SELECT 1 FROM claim) ON CONFLICT DO NOTHING)
    SELECT append_events($2, $1, $15) AS last FROM claim WHERE (SELECT count(*) FROM run) >= 0`,
};

/** Told of a run between two attempts of a step. */
export const TELL = {
  name: 'tell_run',
  text: `WITH live AS (SELECT 1 FROM tasks WHERE id = $1 AND status IN (${LIVE}) FOR NO KEY UPDATE)
    SELECT append_events($2, $1, $3) AS last FROM live`,
};

export const FREEZE_TOOLSET = {
  name: 'freeze_toolset',
  text: `WITH run AS (UPDATE tasks SET toolset = $3::jsonb WHERE id = $1 AND toolset IS NULL RETURNING 1)
    SELECT append_events($2, $1, $4) AS last FROM run`,
};

/** Told only by the attempt that owns the step. Synchronous: after a crash no number may be given to something else. */
export const DELTAS = {
  name: 'append_deltas',
  text: `SELECT append_events($2, $1, $5) AS last FROM (
      SELECT 1 FROM tasks t JOIN task_steps s ON s.task_id = t.id
      WHERE t.id = $1 AND t.status IN (${LIVE}) AND s.step = $3 AND s.attempts = $4 AND s.ended_at IS NULL FOR SHARE OF t, s) AS mine`,
};

export const NOTE_ERROR = {
  name: 'note_error',
  text: `WITH live AS (SELECT 1 FROM tasks WHERE id = $1 AND status IN (${LIVE}) FOR SHARE),
    step AS (
      UPDATE task_steps SET errors = errors + 1, error = $4
      WHERE task_id = $1 AND step = $3 AND attempts = $6 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM live) RETURNING 1)
    SELECT append_events($2, $1, $5) AS last FROM step`,
};

export const SETTLE = {
  name: 'settle_task',
  text: `SELECT next_task AS next, told_workflow AS workflow_id, told_last AS last, pending_webhook($1) AS webhook,
      (SELECT definition_hash FROM tasks WHERE id = $1) AS definition_hash
    FROM settle_task($1, $2, $3, $4, $5)`,
};

export const NOTE = {
  name: 'note_usage',
  text: `WITH run AS (
      UPDATE tasks SET total_in = total_in + $4, total_out = total_out + $5, cache_read = cache_read + $6,
        cache_write = cache_write + $7, cost = cost + $8
      WHERE id = $1 AND status IN (${LIVE}) RETURNING 1)
    SELECT append_events($2, $1, $3) AS last FROM run`,
};
