import { isLastClaim } from '../database/idempotency.sql.ts';
import { hasRun, statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/** The columns that the row of a new task gives; all others have their defaults, or are decided as it is written. */
export const NEW_TASK = [
  ...['id', 'workflow_id', 'workflow_title', 'owner', 'owner_login', 'agent_id', 'agent_name', 'model', 'definition_hash'],
  ...['prompt', 'prompt_parts', 'attachments', 'on_busy', 'trigger', 'scheduled_agent_id', 'caller_token', 'caller_key_id'],
  ...['service_key_id', 'created_at', 'thread_id', 'beside_lane', 'conversation_id'],
] as const;

/** A task with its workflow and its thread, if it has one, and the task that it waits for: itself, if it waits for none. */
export const IN_LANE = 'tasks t JOIN workflows w ON w.id = t.workflow_id LEFT JOIN threads h ON h.id = t.thread_id';
export const HOLDER =
  'CASE WHEN t.beside_lane THEN t.id WHEN t.thread_id IS NULL THEN w.active_task_id ELSE coalesce(h.active_task_id, lane_waits_for(h.id)) END';

/** The task for which a given one waits: of its branch, or of its lane. */
const BUSY_WITH =
  'CASE WHEN given.thread_id IS NULL THEN w.active_task_id ELSE coalesce(ahead.holder, thread.active_task_id) END';

/**
 * Writes a pending task, whose row is `task`, and its lane, the workflow's counters and version with it. A task of a thread follows the last
 * turn of its branch in use, unless the row names its turn and the one before it; one that interrupts stands before those that wait. A task next to its lane takes no lane, and waits for none;
 * one that follows it waits until it has ended. A thread without a title gets :title with its first turn.
 * If the owner has :most_open tasks that have not ended, nothing is written, and the row names no holder.
 * With on_busy steer it is written only if nobody holds the lane, or the holder is being stopped. If it was sent as a message, its receipt is
 * written with it. Nothing is written if :claim is not the last one of its request: another try may have been refused, or accepted, meanwhile.
 *
 * A version is new as of the start of the statement: two first runs at once record one, and the other's number is not given to any. The
 * changed definition of a fork, or of a request with its own output schema, is a trial, not a version.
 */
export const createTask = statement(
  'create_task',
  [
    'task',
    'receipt',
    'begins_thread',
    'title',
    'definition',
    'config',
    'version_id',
    'is_trial',
    'due_at',
    'most_open',
    'events',
    'claim',
  ],
  `WITH given AS MATERIALIZED (
      SELECT *, thread_id IS NULL AND NOT beside_lane AS in_workflows_lane FROM jsonb_populate_record(NULL::tasks, '{"beside_lane": false}'::jsonb || :task::jsonb)),
    room AS (
      SELECT :most_open::int IS NULL OR count(*) < :most_open AS is_left
      FROM (SELECT 1 FROM tasks WHERE owner = (SELECT owner FROM given) AND status IN (${LIVE}) LIMIT :most_open) open),
    request AS MATERIALIZED (SELECT ${isLastClaim('given.id')} AS is_current FROM given),
    known AS (
      SELECT FROM workflow_versions v, given WHERE v.workflow_id = given.workflow_id AND v.definition_hash = given.definition_hash),
    thread AS MATERIALIZED (
      SELECT h.active_task_id, h.head_task_id FROM threads h, given
      WHERE h.id = given.thread_id AND h.owner = given.owner FOR NO KEY UPDATE OF h),
    ahead AS MATERIALIZED (
      SELECT coalesce(waits_for(CASE WHEN given.thread_turn IS NULL THEN thread.head_task_id ELSE given.previous_task_id END),
        CASE WHEN thread.active_task_id IS NULL AND given.on_busy <> 'interrupt' THEN lane_waits_for(given.thread_id) END) AS holder
      FROM given, thread WHERE NOT given.beside_lane),
    home AS (
      UPDATE workflows w SET task_count = w.task_count + 1, accepted_tasks = w.accepted_tasks + 1,
        last_task_id = given.id, last_task_status = 'pending', last_task_at = given.created_at,
        active_task_id = CASE WHEN given.in_workflows_lane THEN coalesce(w.active_task_id, given.id) ELSE w.active_task_id END,
        newest_interrupt = CASE WHEN given.on_busy = 'interrupt' AND given.in_workflows_lane THEN w.accepted_tasks + 1 ELSE w.newest_interrupt END,
        current_turn = CASE WHEN w.active_task_id IS NULL AND given.in_workflows_lane THEN 0 ELSE w.current_turn END,
        status = CASE WHEN w.active_task_id IS NULL AND given.in_workflows_lane THEN 'running' ELSE w.status END,
        version_count = w.version_count + CASE WHEN w.single_use OR :is_trial OR EXISTS (SELECT FROM known) THEN 0 ELSE 1 END
      FROM given LEFT JOIN thread ON true LEFT JOIN ahead ON true
      WHERE w.id = given.workflow_id AND w.status <> 'inactive'
        AND (given.on_busy NOT IN ('reject', 'steer') OR given.beside_lane OR ${BUSY_WITH} IS NULL
          OR given.on_busy = 'steer' AND EXISTS (SELECT 1 FROM tasks s WHERE s.halt_requested AND s.id = ${BUSY_WITH}))
        AND (given.thread_id IS NULL OR :begins_thread::boolean OR EXISTS (SELECT FROM thread))
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = given.id) AND (SELECT is_left FROM room) AND (SELECT is_current FROM request)
      RETURNING w.active_task_id, w.accepted_tasks, w.single_use, w.version_count),
    follows AS MATERIALIZED (
      SELECT CASE WHEN given.on_busy = 'interrupt' AND NOT given.beside_lane
        THEN put_before_waiting(given.id, thread.head_task_id, thread.active_task_id) ELSE thread.head_task_id END AS task_id
      FROM given, thread, home WHERE given.thread_turn IS NULL),
    joined AS (
      UPDATE threads h SET active_task_id = CASE WHEN given.beside_lane OR ahead.holder IS NOT NULL THEN h.active_task_id ELSE coalesce(h.active_task_id, given.id) END,
        accepted_tasks = h.accepted_tasks + 1,
        newest_interrupt = CASE WHEN given.on_busy = 'interrupt' AND NOT given.beside_lane THEN h.accepted_tasks + 1 ELSE h.newest_interrupt END,
        head_task_id = CASE WHEN given.thread_turn IS NULL AND follows.task_id IS DISTINCT FROM h.head_task_id THEN h.head_task_id ELSE given.id END,
        workflow_id = coalesce(h.workflow_id, given.workflow_id), updated_at = given.created_at,
        title = coalesce(h.title, CASE WHEN h.head_task_id IS NULL THEN :title END)
      FROM given JOIN home ON true LEFT JOIN ahead ON true LEFT JOIN follows ON true WHERE h.id = given.thread_id
      RETURNING coalesce(h.active_task_id, ahead.holder) AS active_task_id, h.accepted_tasks),
    begun AS (
      INSERT INTO threads (id, owner, owner_login, workflow_id, title, head_task_id, active_task_id, accepted_tasks, newest_interrupt,
        created_at, updated_at)
      SELECT given.thread_id, given.owner, given.owner_login, given.workflow_id, :title, given.id,
        CASE WHEN NOT given.beside_lane THEN given.id END, 1,
        CASE WHEN given.on_busy = 'interrupt' AND NOT given.beside_lane THEN 1 ELSE 0 END, given.created_at, given.created_at
      FROM given, home WHERE :begins_thread AND NOT EXISTS (SELECT FROM thread) RETURNING active_task_id, accepted_tasks),
    lane AS (
      SELECT CASE WHEN given.beside_lane THEN given.id WHEN given.thread_id IS NULL THEN home.active_task_id ELSE spot.active_task_id END AS holder,
        coalesce(spot.accepted_tasks, home.accepted_tasks) AS accepted_tasks, home.single_use, home.version_count
      FROM given, home LEFT JOIN (SELECT * FROM joined UNION ALL SELECT * FROM begun) spot ON true),
    definition AS (
      INSERT INTO definitions (hash, body) SELECT given.definition_hash, :definition::jsonb FROM given, lane ON CONFLICT DO NOTHING),
    version AS (
      INSERT INTO workflow_versions (id, workflow_id, number, definition_hash, config, origin, created_by, created_login, created_at)
      SELECT :version_id, workflow_id, version_count, definition_hash, :config::jsonb, 'run', owner, owner_login, created_at
      FROM given, lane WHERE NOT single_use AND NOT :is_trial AND NOT EXISTS (SELECT FROM known)
      ON CONFLICT (workflow_id, definition_hash) DO NOTHING),
    restore AS (
      SELECT restored_at FROM (
        SELECT (value::jsonb ->> 'restored_at')::timestamptz AS restored_at FROM installation_facts WHERE name = 'epoch') epoch
      WHERE restored_at > :due_at::timestamptz),
    task AS (
      INSERT INTO tasks (${NEW_TASK.join(', ')}, previous_task_id, thread_turn, lane_number, restored_at)
      SELECT ${NEW_TASK.map((column) => `given.${column}`).join(', ')},
        CASE WHEN given.thread_turn IS NULL THEN follows.task_id ELSE given.previous_task_id END,
        coalesce(given.thread_turn, CASE WHEN given.thread_id IS NOT NULL THEN turn_after(follows.task_id) END), accepted_tasks, (SELECT restored_at FROM restore)
      FROM given JOIN lane ON true LEFT JOIN follows ON true RETURNING id, workflow_id),
    receipt AS (
      INSERT INTO thread_messages (id, thread_id, workflow_id, owner, owner_login, task_id, state, when_busy, metadata, content, number, created_at, updated_at)
      SELECT given.id, given.thread_id, given.workflow_id, given.owner, given.owner_login, given.id, 'started', :receipt::jsonb ->> 'when_busy',
        :receipt::jsonb -> 'metadata', :receipt::jsonb ->> 'content', lane.accepted_tasks, given.created_at, given.created_at
      FROM given, lane WHERE :receipt::jsonb IS NOT NULL)
    SELECT holder, append_events(task.workflow_id, task.id, :events) AS last, false AS is_overtaken FROM lane, task
    UNION ALL SELECT NULL, NULL, NOT is_current FROM room, request WHERE NOT (is_left AND is_current)`,
);

export const createdTask = statement(
  'created_task',
  ['task_id', 'workflow_id'],
  `SELECT t.id AS task_id, to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
      coalesce(${HOLDER}, t.id) AS holder
    FROM ${IN_LANE} WHERE t.id = :task_id AND w.id = :workflow_id`,
);

export const secretsOfTask = statement(
  'secrets_of_task',
  ['task_id'],
  `SELECT owner, definition_hash, caller_token, caller_key_id FROM tasks WHERE id = :task_id`,
);

export const ownerOfTask = statement(
  'owner_of_task',
  ['task_id'],
  `SELECT owner, definition_hash FROM tasks WHERE id = :task_id`,
);

export const discardTask = statement(
  'discard_task',
  ['task_id', 'claim'],
  'SELECT discard_task(:task_id, :claim::int) AS holder',
);

export const settleLanes = statement('settle_lanes', [], `SELECT settle_lanes() AS freed`);

const IN_QUEUE = `SELECT t.id AS task_id, t.owner AS principal FROM ${IN_LANE}
    WHERE t.workflow_id = :workflow_id AND t.status = 'pending'`;
const SUPERSEDED = `t.on_busy = 'interrupt' AND NOT t.beside_lane AND coalesce(t.lane_number, 0) < coalesce(h.newest_interrupt, w.newest_interrupt)`;

export const queuedTasks = statement('queued_tasks', ['workflow_id', 'limit'], `${IN_QUEUE} ORDER BY t.id DESC LIMIT :limit`);

export const supersededTasks = statement('superseded_tasks', ['workflow_id'], `${IN_QUEUE} AND ${SUPERSEDED} ORDER BY t.id DESC`);

/** Gives free lanes of a workflow, its threads' and its own, to the next task of each: a workflow that was switched off has nobody who could. */
export const takeLanes = statement(
  'take_lanes',
  ['workflow_id'],
  `WITH free_threads AS MATERIALIZED (
      SELECT id FROM threads h WHERE workflow_id = :workflow_id AND active_task_id IS NULL
        AND EXISTS (SELECT 1 FROM tasks p WHERE coalesce(p.thread_id, p.workflow_id) = h.id AND p.status = 'pending' AND NOT p.beside_lane)
      ORDER BY id FOR NO KEY UPDATE),
    in_threads AS (
      UPDATE threads h SET active_task_id = next_in_lane(h.id, h.id) FROM free_threads f
      WHERE h.id = f.id AND next_in_lane(h.id, h.id) IS NOT NULL RETURNING h.active_task_id AS holder),
    free AS (
      SELECT next_in_lane(:workflow_id, :workflow_id) AS next FROM workflows WHERE id = :workflow_id AND active_task_id IS NULL
        AND status <> 'inactive' AND ${hasRun('in_threads')} FOR NO KEY UPDATE),
    taken AS (
      UPDATE workflows w SET active_task_id = free.next, status = 'running' FROM free
      WHERE w.id = :workflow_id AND free.next IS NOT NULL RETURNING w.active_task_id AS holder)
    SELECT holder FROM in_threads UNION ALL SELECT holder FROM taken`,
);

export const holderOfLane = statement(
  'holder_of_lane',
  ['task_id'],
  `SELECT ${HOLDER} AS holder FROM ${IN_LANE} WHERE t.id = :task_id`,
);

/** A task that should have a run, with the data to start it again and the calls whose decisions it may have missed. */
const UNFINISHED = `SELECT t.id AS task_id, t.workflow_id, t.owner_login AS owner, t.owner AS principal, t.trigger, t.agent_name AS agent, t.model, t.status, t.on_busy, t.turns, t.steps,
      coalesce(t.workflow_title, t.workflow_id::text) AS workflow, t.definition_hash, ${HOLDER} AS holder,
      t.record_behind, t.behind_run_id, t.continuity,
      w.status = 'inactive' AND w.on_inactive = 'halt' AS switched_off, ${SUPERSEDED} AS superseded,
      ARRAY(SELECT c.call_id FROM tool_calls c WHERE c.task_id = t.id AND c.status LIKE 'waiting%' AND c.decision IS NOT NULL) AS decided,
      ARRAY(SELECT json_build_object('call_id', c.call_id, 'status', c.status, 'attempts', c.attempts)
        FROM tool_calls c WHERE c.task_id = t.id AND c.status NOT IN ('done', 'denied')) AS open_calls
    FROM ${IN_LANE}
    WHERE t.status IN (${LIVE})`;

export const unfinishedTasks = statement(
  'unfinished_tasks',
  ['from', 'to'],
  `${UNFINISHED} AND t.created_at NOT BETWEEN :from AND :to ORDER BY t.id`,
);

export const unfinishedTask = statement('unfinished_task', ['task_id'], `${UNFINISHED} AND t.id = :task_id`);

/** Filters these tasks to those that ended, but not within a time, or do not exist. */
export const tasksOver = statement(
  'tasks_over',
  ['task_ids', 'from', 'to'],
  `SELECT id FROM unnest(:task_ids::uuid[]) AS asked (id) WHERE NOT EXISTS (
    SELECT 1 FROM tasks t WHERE t.id = asked.id AND (t.status IN (${LIVE}) OR t.completed_at BETWEEN :from AND :to))`,
);
