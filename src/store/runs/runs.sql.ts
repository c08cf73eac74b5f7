import { LIVE_STATUSES } from '../../domain/statuses.ts';
import { type ExchangeUsage, MOST_COUNTED } from '../../domain/usage.ts';
import { hasRun, statement } from '../database/statement.ts';
import { HAS_CAPS, PAYERS, SPENT_FROM_CAPS } from './caps-parts.ts';
import { NAMED_FOR_RUN } from './named-windows.sql.ts';

/** The statuses of a task whose run may still work on it. */
export const LIVE = LIVE_STATUSES.map((status) => `'${status}'`).join(', ');

/** The run waits for a person: an assignment of `tasks`. */
export const WAITS = `status = 'waiting', waiting_since = CASE status WHEN 'waiting' THEN waiting_since ELSE now() END`;

/** The task, if its run may still work on it, locked to be changed. */
export const LOCKED_TASK = `live AS (SELECT 1 FROM tasks WHERE id = :task_id AND status IN (${LIVE}) FOR NO KEY UPDATE)`;

/*
 * Lock order. Every statement and database function locks rows in this order: threads, workflows, tasks, thread_messages, task_steps and
 * tool_calls, event_sequences, budgets and budget_periods. A workflow is locked FOR NO KEY UPDATE, never FOR UPDATE: inserting an event checks its
 * foreign key with FOR KEY SHARE on the workflow, after the task is locked. So is a thread, for the key of its tasks. `hasRun` forces
 * this order within a statement. test/api/locks.test.ts holds every function to this order.
 */

export const MESSAGES = `task_messages (task_id, step, position, role, kind, content, tool_calls, call_id, extra)`;
export const buildMessageRows = (
  json: string,
) => `SELECT :task_id::uuid, m.step, m.position, m.role, m.kind, m.content, m.tool_calls, m.call_id, m.extra
  FROM jsonb_to_recordset(${json}::jsonb) AS m
    (step int, position int, role text, kind text, content text, tool_calls jsonb, call_id text, extra jsonb)`;

/** True if the step before :step has ended, or there is none. */
const FOLLOWS = `(:step = 1 OR EXISTS (SELECT 1 FROM task_steps p WHERE p.task_id = :task_id AND p.step = :step - 1 AND p.ended_at IS NOT NULL))`;
/** The calls of the step before :step that have no result. */
const UNENDED = `tool_calls c WHERE c.task_id = :task_id AND c.step = :step - 1 AND c.status NOT IN ('done', 'denied')`;

/** The fallback that the run is at, with its age and what answered earlier steps; null: it never left its own model. */
const FALLBACK = `CASE WHEN t.fallback IS NOT NULL THEN t.fallback || jsonb_build_object(
      'seconds', extract(epoch FROM now() - (t.fallback ->> 'at')::timestamptz)::float8,
      'answered', coalesce((SELECT jsonb_object_agg(f.step, f.fallback) FROM task_steps f WHERE f.task_id = t.id AND f.fallback > 0), '{}')) END`;

/** The failures of the model that the step asks next: none, if the run has moved since the last attempt. */
const ERRORS = `CASE WHEN s.fallback = coalesce((t.fallback ->> 'position')::int, 0)
          THEN s.errors - coalesce((s.passed_on -> -1 ->> 'errors')::int, 0) ELSE 0 END`;

export const openRun = statement(
  'open_run',
  ['task_id', 'step'],
  `SELECT t.id AS task_id, t.workflow_id, t.owner, t.owner_login, t.prompt, t.attachments, t.status, t.halt_requested, t.definition_hash,
      t.cursor, t.toolset, t.turns, ${FALLBACK} AS fallback, t.started_at, extract(epoch FROM now() - t.started_at)::float8 AS seconds, t.budget, t.caller_token, t.caller_key_id,
      t.total_in, t.total_out, t.cache_read, t.cache_write, t.cost, t.premium_requests, t.usage_estimated AS estimated, t.unpriced_models,
      coalesce(s.attempts, 0) AS attempts, coalesce(${ERRORS}, 0) AS errors, s.ended_at IS NOT NULL AS recorded,
      ${FOLLOWS} AS follows, ARRAY(SELECT c.call_id FROM ${UNENDED} ORDER BY c.position) AS unended,
      EXISTS (SELECT 1 FROM definitions d WHERE d.hash = t.definition_hash) AS defined, ${NAMED_FOR_RUN} AS named_window,
      ${HAS_CAPS} AS has_caps,
      coalesce((SELECT json_agg(json_build_object('step', m.step, 'position', m.position, 'role', m.role, 'kind', m.kind,
          'content', m.content, 'tool_calls', m.tool_calls, 'call_id', m.call_id, 'extra', m.extra) ORDER BY m.step, m.position)
        FROM task_messages m WHERE m.task_id = t.id), '[]'::json) AS messages,
      coalesce((SELECT json_agg(json_build_object('id', m.id, 'content', m.content, 'attachments', m.attachments) ORDER BY m.number)
        FROM thread_messages m WHERE m.task_id = t.id AND m.state = 'pending'), '[]'::json) AS waiting_messages,
      t.thread_turn, CASE WHEN t.previous_task_id IS NULL THEN '[]'::json ELSE earlier_messages(t.id, false) END AS earlier,
      coalesce((SELECT json_agg(json_build_object('call_id', c.call_id, 'name', c.name) ORDER BY c.position)
        FROM tool_calls c WHERE c.task_id = t.id AND c.step = :step), '[]'::json) AS calls
    FROM tasks t LEFT JOIN task_steps s ON s.task_id = t.id AND s.step = :step
    WHERE t.id = :task_id`,
);

const buildIncrement = (name: keyof ExchangeUsage) => `${name} = least(${name} + :${name}::bigint, ${MOST_COUNTED})::int`;

/** Adds the tokens and the cost of what was paid. */
const SPENT = `${buildIncrement('total_in')}, ${buildIncrement('total_out')}, ${buildIncrement('cache_read')}, ${buildIncrement('cache_write')}, cost = cost + :cost`;

/** The most names of models without a price that a task keeps: a gateway may make up names. */
const MOST_NAMES = 16;

/** Adds what was paid to a step, and to its task. `:unpriced_model` is the model of an answer without a price. */
export const SPENT_BY_STEP = `${SPENT}, estimated = estimated OR :estimated, unpriced = unpriced OR :unpriced_model::text IS NOT NULL`;
export const SPENT_BY_TASK = `${SPENT}, usage_estimated = usage_estimated OR :estimated,
        unpriced_models = CASE WHEN :unpriced_model::text IS NULL OR :unpriced_model = ANY (unpriced_models)
          OR cardinality(unpriced_models) = ${MOST_NAMES} THEN unpriced_models ELSE unpriced_models || :unpriced_model::text END`;

/**
 * What a step's earlier models have used, with the one that its attempts have asked so far: totals of the step at that time. The flags are
 * of this model alone, and those of the step begin again with the next one.
 */
const PASSED_ON = `coalesce(s.passed_on, '[]') || jsonb_build_object('model', s.model, 'provider_id', s.provider_id, 'at', now(),
          'errors', s.errors, 'total_in', s.total_in, 'total_out', s.total_out, 'cache_read', s.cache_read, 'cache_write', s.cache_write,
          'cost', s.cost, 'estimated', s.estimated, 'unpriced', s.unpriced)`;

/** Moves the run to another position among its models. Null: it stays. */
const MOVED = `fallback = coalesce(:fallback::jsonb || jsonb_build_object('at', now()), tasks.fallback)`;

/** True if the run of the task may continue: it has not ended, and nobody has requested a halt. */
const MAY_CONTINUE = `id = :task_id AND status IN (${LIVE}) AND NOT halt_requested`;

/**
 * The attempt that started last owns its step. An earlier attempt that was presumed dead and still writes fails this check,
 * because its number is outdated. The check holds the row's lock, so the earlier one cannot write after the later one has started.
 * The record that the attempt has read may be replaced by an older one meanwhile, and a halt may arrive: then it returns no row, and
 * the next attempt reads again. The task is read before its workflow is changed, and checked again when it is locked. The same happens if one
 * of the messages that enter the run with this step, :taken, is not there to be taken any more.
 * A step of a run with fallbacks names the model that is asked, so that what a halt or a switch leaves behind is counted for it.
 */
export const beginAttempt = statement(
  'begin_attempt',
  [
    ...['task_id', 'workflow_id', 'step', 'turns', 'denied', 'fallback', 'messages', 'events', 'seen_attempts', 'taken'],
    ...['model', 'provider_id', 'provider_name', 'position'],
  ],
  `WITH fresh AS (
      SELECT 1 FROM tasks WHERE ${MAY_CONTINUE} AND NOT EXISTS (SELECT 1 FROM task_steps WHERE task_id = :task_id AND step = :step
        AND (attempts <> :seen_attempts OR ended_at IS NOT NULL))
        AND ${FOLLOWS} AND NOT EXISTS (SELECT 1 FROM ${UNENDED} AND c.call_id <> ALL (:denied::text[]))),
    lane AS (
      UPDATE workflows SET status = 'running', current_turn = :turns
      WHERE id = :workflow_id AND active_task_id = :task_id AND status <> 'inactive' AND (status <> 'running' OR current_turn <> :turns)
        AND EXISTS (SELECT 1 FROM fresh) RETURNING 1),
    held AS MATERIALIZED (
      SELECT 1 FROM tasks WHERE ${MAY_CONTINUE} AND EXISTS (SELECT 1 FROM fresh) AND ${hasRun('lane')} FOR NO KEY UPDATE),
    takeable AS MATERIALIZED (
      SELECT id FROM thread_messages WHERE id = ANY (:taken::uuid[]) AND task_id = :task_id AND state = 'pending'
        AND EXISTS (SELECT 1 FROM held) FOR NO KEY UPDATE),
    run AS (
      UPDATE tasks SET status = 'running', started_at = coalesce(started_at, now()), turns = :turns, steps = :step,
        turn_limit_reached = turn_limit_reached OR cardinality(:denied::text[]) > 0, ${MOVED}
      WHERE id = :task_id AND EXISTS (SELECT 1 FROM held) AND (SELECT count(*) FROM takeable) = cardinality(:taken::uuid[]) RETURNING 1),
    step AS (
      INSERT INTO task_steps AS s (task_id, step, attempts, model, provider_id, provider_name, fallback)
      SELECT :task_id, :step, 1, :model::text, :provider_id::uuid, :provider_name::text, :position::int FROM run
      ON CONFLICT (task_id, step) DO UPDATE SET attempts = s.attempts + 1,
        passed_on = CASE WHEN s.fallback = excluded.fallback THEN s.passed_on ELSE ${PASSED_ON} END,
        model = CASE WHEN s.fallback = excluded.fallback THEN coalesce(s.model, excluded.model) ELSE excluded.model END,
        estimated = s.estimated AND s.fallback = excluded.fallback, unpriced = s.unpriced AND s.fallback = excluded.fallback,
        provider_id = excluded.provider_id, provider_name = excluded.provider_name, fallback = excluded.fallback
        WHERE s.attempts = :seen_attempts AND s.ended_at IS NULL RETURNING 1),
    denials AS (
      UPDATE tool_calls SET status = 'denied', failed = true, ended_at = now()
      WHERE task_id = :task_id AND call_id = ANY (:denied) AND EXISTS (SELECT 1 FROM step)),
    entered AS (
      UPDATE thread_messages t SET state = 'steered', step = :step, position = m.position, caller_token = NULL, caller_key_id = NULL,
        updated_at = now()
      FROM jsonb_to_recordset(:messages::jsonb) AS m (kind text, position int, extra jsonb)
      WHERE t.id = ANY (:taken::uuid[]) AND m.kind = 'steer' AND t.id = (m.extra ->> 'message_id')::uuid AND EXISTS (SELECT 1 FROM step)),
    messages AS (INSERT INTO ${MESSAGES} ${buildMessageRows(':messages')} WHERE EXISTS (SELECT 1 FROM step) ON CONFLICT DO NOTHING)
    SELECT append_events(:workflow_id, :task_id, :events) AS last FROM step`,
);

/**
 * Writes a reply. If texts of it were published, they must be on record as they were: the row has no number if they are not, as after
 * a failover to a database that has not received all of them, and nothing is written. If a message waits for the run, a final answer is not
 * its response: the message enters after it, and `taken` has its event.
 */
export const writeReply = statement(
  'write_reply',
  [
    'task_id',
    'workflow_id',
    'step',
    'model',
    'provider_id',
    'provider_name',
    'fallback',
    'finish',
    'total_in',
    'total_out',
    'cache_read',
    'cache_write',
    'cost',
    'estimated',
    'unpriced_model',
    'messages',
    'calls',
    'cursor',
    'response',
    'events',
    'attempt',
    'texts_after',
    'texts',
    'text_bytes',
    'reservation',
  ],
  `WITH ${LOCKED_TASK},
    streamed AS MATERIALIZED (
      SELECT CASE WHEN :texts::int = 0 THEN true ELSE (
        SELECT count(*) = :texts::int AND sum(octet_length(data ->> 'delta')) = :text_bytes::int
        FROM events WHERE task_id = :task_id AND seq > :texts_after::int AND type = 'message_delta') END AS is_whole),
    claim AS (
      UPDATE task_steps SET ended_at = now(), model = :model, provider_id = :provider_id, provider_name = :provider_name,
        fallback = :fallback, finish = :finish, error = NULL, ${SPENT_BY_STEP}
      WHERE (SELECT is_whole FROM streamed)
        AND task_id = :task_id AND step = :step AND attempts = :attempt AND ended_at IS NULL AND EXISTS (SELECT 1 FROM live) RETURNING 1),
    taken AS MATERIALIZED (
      SELECT CASE WHEN :response::jsonb IS NULL THEN '[]' ELSE take_messages(:task_id, :step) END AS reported FROM claim),
    final AS MATERIALIZED (SELECT CASE WHEN reported = '[]' THEN :response::jsonb END AS response FROM taken),
    run AS (
      UPDATE tasks SET ${SPENT_BY_TASK}, model = coalesce(tasks.model, :model), cursor = :cursor::jsonb,
        response = coalesce((SELECT final.response FROM final), tasks.response),
        truncated = CASE WHEN (SELECT final.response FROM final) IS NULL THEN truncated ELSE :finish = 'length' END
      WHERE id = :task_id AND EXISTS (SELECT 1 FROM claim) RETURNING ${PAYERS}),
    messages AS (INSERT INTO ${MESSAGES} ${buildMessageRows(':messages')} WHERE EXISTS (SELECT 1 FROM claim) ON CONFLICT DO NOTHING),
    calls AS (
      INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, approval)
      SELECT :task_id, c.call_id, :step, c.position, c.name, c.arguments, c.effect, c.approval
      FROM jsonb_to_recordset(:calls::jsonb) AS c (call_id text, position int, name text, arguments text, effect text, approval boolean)
      WHERE EXISTS (SELECT 1 FROM claim) ON CONFLICT DO NOTHING)
    SELECT append_events(:workflow_id, :task_id, :events::jsonb || (SELECT reported FROM taken)) AS last, (SELECT reported FROM taken) AS taken,
      ${SPENT_FROM_CAPS} FROM run
    UNION ALL SELECT NULL, NULL, NULL FROM streamed WHERE NOT is_whole`,
);

/** Events of a run between two attempts of a step. */
export const tellRun = statement(
  'tell_run',
  ['task_id', 'workflow_id', 'events'],
  `WITH ${LOCKED_TASK}
    SELECT append_events(:workflow_id, :task_id, :events) AS last FROM live`,
);

export const freezeToolset = statement(
  'freeze_toolset',
  ['task_id', 'workflow_id', 'toolset', 'events'],
  `WITH run AS (UPDATE tasks SET toolset = :toolset::jsonb WHERE id = :task_id AND toolset IS NULL RETURNING 1)
    SELECT append_events(:workflow_id, :task_id, :events) AS last FROM run`,
);

/**
 * A failed attempt. With a fallback, the next attempt asks that one, which may fail as often again as the model before. The same failure may
 * be noted again, since its answer may be lost: it counts once, and the row then has no number.
 */
export const noteError = statement(
  'note_error',
  [
    ...['task_id', 'workflow_id', 'step', 'error', 'model', 'events', 'attempt', 'fallback', 'reservation'],
    ...['total_in', 'total_out', 'cache_read', 'cache_write', 'cost', 'estimated', 'unpriced_model'],
  ],
  `WITH ${LOCKED_TASK},
    mine AS (
      SELECT failed_attempt IS NOT DISTINCT FROM :attempt AS is_noted FROM task_steps
      WHERE task_id = :task_id AND step = :step AND attempts = :attempt AND ended_at IS NULL
        AND EXISTS (SELECT 1 FROM live) FOR NO KEY UPDATE),
    step AS (
      UPDATE task_steps SET errors = errors + 1, error = :error, failed_attempt = :attempt, model = coalesce(:model, task_steps.model),
        ${SPENT_BY_STEP}
      WHERE task_id = :task_id AND step = :step AND EXISTS (SELECT 1 FROM mine WHERE NOT is_noted) RETURNING 1),
    run AS (
      UPDATE tasks SET ${SPENT_BY_TASK}, model = coalesce(tasks.model, :model),
        ${MOVED}
      WHERE id = :task_id AND EXISTS (SELECT 1 FROM step) RETURNING ${PAYERS})
    SELECT append_events(:workflow_id, :task_id, :events) AS last, ${SPENT_FROM_CAPS} FROM run
    UNION ALL SELECT NULL, NULL FROM mine WHERE is_noted`,
);

/** What an attempt has used that a halt broke off. */
export const noteHalted = statement(
  'note_halted',
  [
    ...['task_id', 'workflow_id', 'step', 'model', 'events', 'attempt'],
    ...['total_in', 'total_out', 'cache_read', 'cache_write', 'cost', 'estimated', 'unpriced_model', 'reservation'],
  ],
  `WITH ${LOCKED_TASK},
    step AS (
      UPDATE task_steps SET model = coalesce(:model, task_steps.model), ${SPENT_BY_STEP}
      WHERE task_id = :task_id AND step = :step AND ended_at IS NULL AND attempts = :attempt
        AND EXISTS (SELECT 1 FROM live) RETURNING 1),
    run AS (
      UPDATE tasks SET ${SPENT_BY_TASK}, model = coalesce(tasks.model, :model)
      WHERE id = :task_id AND EXISTS (SELECT 1 FROM step) RETURNING ${PAYERS})
    SELECT append_events(:workflow_id, :task_id, :events) AS last, ${SPENT_FROM_CAPS} FROM run`,
);

/** What was paid in addition to the run's steps counts for its last one. */
export const noteUsage = statement(
  'note_usage',
  [
    'task_id',
    'workflow_id',
    'events',
    'total_in',
    'total_out',
    'cache_read',
    'cache_write',
    'cost',
    'estimated',
    'unpriced_model',
    'reservation',
  ],
  `WITH run AS (
      UPDATE tasks SET ${SPENT_BY_TASK} WHERE id = :task_id AND status IN (${LIVE}) RETURNING ${PAYERS}),
    step AS (
      UPDATE task_steps SET ${SPENT_BY_STEP} WHERE task_id = :task_id AND EXISTS (SELECT 1 FROM run)
        AND step = (SELECT max(step) FROM task_steps WHERE task_id = :task_id) RETURNING 1)
    SELECT append_events(:workflow_id, :task_id, :events) AS last, ${SPENT_FROM_CAPS} FROM run WHERE ${hasRun('step')}`,
);
