import { statement } from '../database/statement.ts';
import { buildDeletedCount } from '../runs/event-partitions.sql.ts';
import { LIVE } from '../runs/runs.sql.ts';

/**
 * The number of rows that a statement reads. A constant: for a value that is not known yet, the planner assumes a tenth of the
 * table.
 */
export const BATCH = 200;

/*
 * Each statement handles a bounded number of rows, which it finds by an index; test/api/retention-plans.test.ts checks all of
 * them. Statements that walk along an index return the last row that they read, and delete by place (ctid): a join could read the
 * whole table, and a row that was changed in the meantime has another place and stays.
 */

export const databaseTime = statement('database_time', [], `SELECT now() AS now`);

/**
 * Moves the time up to which ages are counted: to now, but by no more than a day. The first time, it is at most a day after the
 * newest end of a task. So a clock that is far ahead does not make everything old at once.
 */
export const advanceAgingClock = statement(
  'advance_aging_clock',
  [],
  `WITH reached AS (SELECT coalesce((SELECT value::timestamptz FROM installation_facts WHERE name = 'aging_clock'),
      (SELECT max(completed_at) FROM tasks), now()) AS at)
    INSERT INTO installation_facts (name, value)
      SELECT 'aging_clock', to_char(least(now(), at + interval '1 day') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM reached
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = now()
    RETURNING value::timestamptz AS at`,
);

export const readAgingClock = statement(
  'read_aging_clock',
  [],
  `SELECT value::timestamptz AS at, now() AS now FROM installation_facts WHERE name = 'aging_clock'`,
);

/**
 * Takes the turn until the end of the transaction: only its holder removes old records, because two would delete the same rows in
 * different orders.
 */
export const takeTurn = statement('take_turn', [], `SELECT pg_try_advisory_xact_lock(7215011840) AS taken`);

/**
 * Returns the next tasks in the order of their end, with at most `rows` events to delete together, unless the first one has more.
 */
export const endedTasks = statement(
  'ended_tasks',
  ['before', 'after_at', 'after_id', 'rows'],
  `WITH looked AS (
      SELECT id, completed_at FROM tasks
      WHERE completed_at < :before AND (completed_at, id) > (:after_at::timestamptz, :after_id::uuid)
      ORDER BY completed_at, id LIMIT ${BATCH}),
    sized AS (
      SELECT id, completed_at, row_number() OVER earlier AS number,
        sum(${buildDeletedCount('looked.id')}) OVER earlier AS rows
      FROM looked WINDOW earlier AS (ORDER BY completed_at, id))
    SELECT id, completed_at AS at FROM sized WHERE rows <= :rows OR number = 1 ORDER BY number`,
);

/** Locks tasks. Leaves out a task that is being forked right now: the fork holds it FOR KEY SHARE. */
export const lockTasks = statement(
  'lock_tasks',
  ['task_ids'],
  `SELECT id FROM tasks WHERE id = ANY (:task_ids::uuid[]) ORDER BY id FOR UPDATE SKIP LOCKED`,
);

/**
 * Deletes ended tasks with everything that belongs to them, except their events. Keeps tasks that a fork or a delivery still
 * needs, the turns of a thread that was used since or in which one is in progress, and turns that others follow which are kept.
 */
export const removeTasks = statement(
  'remove_tasks',
  ['task_ids', 'before'],
  `DELETE FROM tasks t WHERE id = ANY (:task_ids::uuid[]) AND status NOT IN (${LIVE})
      AND NOT EXISTS (SELECT 1 FROM tasks fork WHERE fork.forked_from = t.id)
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.task_id = t.id AND d.status = 'pending')
      AND NOT EXISTS (SELECT 1 FROM threads h WHERE h.id = t.thread_id AND (h.updated_at >= :before OR h.active_task_id IS NOT NULL
        OR EXISTS (SELECT 1 FROM tasks o WHERE o.thread_id = h.id AND o.beside_lane AND o.status IN (${LIVE}))))
      AND NOT followed_since(t.id, :before)
    RETURNING id`,
);

/**
 * Removes due times. Keeps those that a schedule may still catch up on: a due time without a record would be served again.
 * Records up to when due times may be missing in the same statement, so that none of them is mistaken for a missed one.
 */
export const removeFires = statement(
  'remove_fires',
  ['before', 'after_at', 'after_id'],
  `WITH looked AS MATERIALIZED (
      SELECT f.ctid AS place, f.due_at, f.scheduled_agent_id,
        f.fired_at < :before AND f.due_at < now() - make_interval(secs => s.catchup_window_seconds + s.jitter_seconds) AS old
      FROM schedule_fires f JOIN scheduled_agents s ON s.id = f.scheduled_agent_id
      WHERE f.due_at < :before AND (f.due_at, f.scheduled_agent_id) > (:after_at::timestamptz, :after_id::uuid)
      ORDER BY f.due_at, f.scheduled_agent_id LIMIT ${BATCH}),
    gone AS (
      DELETE FROM schedule_fires WHERE ctid = ANY (ARRAY(SELECT place FROM looked WHERE old)) RETURNING due_at),
    noted AS (
      INSERT INTO installation_facts (name, value)
      SELECT 'fires_removed_until', to_char(max(due_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM gone HAVING count(*) > 0
      ON CONFLICT (name) DO UPDATE SET value = greatest(installation_facts.value, excluded.value), updated_at = now())
    SELECT count(*)::int AS looked, (SELECT count(*)::int FROM gone) AS removed,
      (SELECT due_at FROM looked ORDER BY due_at DESC, scheduled_agent_id DESC LIMIT 1) AS at,
      (SELECT scheduled_agent_id FROM looked ORDER BY due_at DESC, scheduled_agent_id DESC LIMIT 1) AS id FROM looked`,
);

/**
 * Removes uses of tokens. A use by a task stays as long as the task: it names a secret that is redacted in what the task still
 * writes.
 */
export const removeTokenUses = statement(
  'remove_token_uses',
  ['before_id', 'after_id'],
  `WITH looked AS MATERIALIZED (
      SELECT ctid AS place, id, task_id FROM token_uses WHERE id < :before_id AND id > :after_id ORDER BY id LIMIT ${BATCH}),
    gone AS (
      DELETE FROM token_uses WHERE ctid = ANY (ARRAY(
        SELECT place FROM looked l WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = l.task_id))) RETURNING 1)
    SELECT count(*)::int AS looked, (SELECT count(*)::int FROM gone) AS removed,
      (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS id FROM looked`,
);

/** Removes superseded grants, except those that still apply to older tasks in progress. */
export const removeGrants = statement(
  'remove_grants',
  ['before', 'after_at', 'after_id'],
  `WITH looked AS MATERIALIZED (
      SELECT ctid AS place, id, superseded_at FROM secret_grants
      WHERE superseded_at < :before AND (superseded_at, id) > (:after_at::timestamptz, :after_id::uuid)
      ORDER BY superseded_at, id LIMIT ${BATCH}),
    gone AS (
      DELETE FROM secret_grants WHERE ctid = ANY (ARRAY(
        SELECT place FROM looked l
        WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.status IN (${LIVE}) AND t.created_at < l.superseded_at))) RETURNING 1)
    SELECT count(*)::int AS looked, (SELECT count(*)::int FROM gone) AS removed,
      (SELECT superseded_at FROM looked ORDER BY superseded_at DESC, id DESC LIMIT 1) AS at,
      (SELECT id FROM looked ORDER BY superseded_at DESC, id DESC LIMIT 1) AS id FROM looked`,
);

/**
 * Removes workflows that were created for one request and have no task any more. The memories of such a workflow cannot be
 * reached.
 */
export const removeSingleUse = statement(
  'remove_single_use',
  ['before_id', 'after_id'],
  `WITH looked AS MATERIALIZED (
      SELECT ctid AS place, id, active_task_id FROM workflows WHERE single_use AND id < :before_id AND id > :after_id ORDER BY id LIMIT ${BATCH}),
    gone AS (
      DELETE FROM workflows WHERE ctid = ANY (ARRAY(
        SELECT place FROM looked l WHERE active_task_id IS NULL AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.workflow_id = l.id)
          AND NOT EXISTS (SELECT 1 FROM scheduled_agents s WHERE s.workflow_id = l.id)
          AND NOT EXISTS (SELECT 1 FROM threads h WHERE h.workflow_id = l.id))) RETURNING id),
    memories AS (DELETE FROM memories m USING gone WHERE m.workflow_id = gone.id::text AND m.workflow_id <> '')
    SELECT count(*)::int AS looked, (SELECT count(*)::int FROM gone) AS removed,
      (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS id FROM looked`,
);

/** Removes threads that were not used for that long and have no turn any more. */
export const removeThreads = statement(
  'remove_threads',
  ['before', 'before_id', 'after_id'],
  `WITH looked AS MATERIALIZED (
      SELECT ctid AS place, id, updated_at FROM threads WHERE id < :before_id AND id > :after_id ORDER BY id LIMIT ${BATCH}),
    gone AS (
      DELETE FROM threads WHERE ctid = ANY (ARRAY(
        SELECT place FROM looked l WHERE updated_at < :before AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.thread_id = l.id))) RETURNING 1)
    SELECT count(*)::int AS looked, (SELECT count(*)::int FROM gone) AS removed,
      (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS id FROM looked`,
);

/** Removes definitions that no task and no evaluation refers to. */
export const removeDefinitions = statement(
  'remove_definitions',
  ['before', 'after_hash'],
  `WITH looked AS MATERIALIZED (
      SELECT ctid AS place, hash, created_at FROM definitions WHERE hash > :after_hash ORDER BY hash LIMIT ${BATCH}),
    gone AS (
      DELETE FROM definitions WHERE ctid = ANY (ARRAY(
        SELECT place FROM looked l
        WHERE created_at < :before AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.definition_hash = l.hash)
          AND NOT EXISTS (SELECT 1 FROM evaluations e WHERE e.definition_hash = l.hash))) RETURNING 1)
    SELECT count(*)::int AS looked, (SELECT count(*)::int FROM gone) AS removed,
      (SELECT hash FROM looked ORDER BY hash DESC LIMIT 1) AS id FROM looked`,
);

export const expireKeys = statement(
  'expire_keys',
  ['before'],
  `WITH gone AS (
      DELETE FROM idempotency_keys
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM idempotency_keys WHERE created_at < :before ORDER BY created_at LIMIT ${BATCH})) RETURNING 1)
    SELECT count(*)::int AS removed FROM gone`,
);

/** Removes rows of a table whose time is over. */
const buildRemoval = <Name extends string>(name: Name, table: string) =>
  statement(
    name,
    ['now'],
    `WITH gone AS (
      DELETE FROM ${table}
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE expires_at < :now ORDER BY expires_at LIMIT ${BATCH})) RETURNING 1)
    SELECT count(*)::int AS removed FROM gone`,
  );

export const removeMcpSignInAttempts = buildRemoval('remove_mcp_sign_in_attempts', 'mcp_sign_in_attempts');
export const removeBrowserSessions = buildRemoval('remove_browser_sessions', 'browser_sessions');
export const removeThreadTokens = buildRemoval('remove_thread_tokens', 'thread_tokens');
