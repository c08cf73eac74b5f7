import { STOPPED_UNBEGUN } from '../../domain/receipts.ts';
import { isLastClaim } from '../database/idempotency.sql.ts';
import { statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/** The columns that the row of a message gives when it is sent to a working run. */
export const NEW_MESSAGE = [
  ...['id', 'thread_id', 'workflow_id', 'owner', 'owner_login', 'task_id', 'when_busy', 'content', 'attachments', 'metadata'],
  ...['service_key_id', 'caller_token', 'caller_key_id', 'created_at', 'updated_at'],
] as const;

/** Why a turn that ended before it began has not run. */
const UNBEGUN = `coalesce(t.error, CASE t.status WHEN 'halted' THEN '${STOPPED_UNBEGUN}' END)`;

/** Messages as their receipts show them. Of one that began a turn, its task decides the state: there is no second record of it. */
const RECEIPTS = `SELECT m.id, m.thread_id, m.workflow_id, m.owner, m.task_id, m.when_busy, m.metadata, m.step, m.created_at, m.updated_at,
      coalesce(m.content, t.prompt) AS message, coalesce(m.attachments, t.attachments, '[]') AS attachments,
      CASE WHEN m.state <> 'started' OR t.started_at IS NOT NULL THEN m.state WHEN t.status IN (${LIVE}) THEN 'pending' ELSE 'refused' END AS state,
      CASE WHEN m.state <> 'started' OR t.started_at IS NOT NULL OR t.status IN (${LIVE}) THEN m.reason ELSE ${UNBEGUN} END AS reason
    FROM thread_messages m JOIN tasks t ON t.id = m.task_id`;

export const messageReceipt = statement('message_receipt', ['id'], `${RECEIPTS} WHERE m.id = :id`);

export const receiptsOfThread = statement(
  'receipts_of_thread',
  ['thread_id', 'before', 'limit'],
  `${RECEIPTS} WHERE m.thread_id = :thread_id AND (:before::uuid IS NULL OR m.id < :before::uuid) ORDER BY m.id DESC LIMIT :limit`,
);

export const messagesOfThread = statement(
  'messages_of_thread',
  ['thread_id'],
  'SELECT count(*)::int AS total FROM thread_messages WHERE thread_id = :thread_id',
);

/** The messages that a run has not read yet, in the order in which they were accepted. */
export const waitingMessages = statement(
  'waiting_messages',
  ['task_id'],
  `${RECEIPTS} WHERE m.task_id = :task_id AND m.state = 'pending' ORDER BY m.number`,
);

/** A message that was sent to begin a turn has its text only in its task. */
export const handedOver = statement(
  'handed_over',
  ['task_id'],
  `SELECT 1 AS ok FROM thread_messages WHERE id = :task_id AND state = 'started' AND content IS NOT NULL`,
);

/** The task of a thread that reads what is said in it: one next to the lane, in the branch in use, or the lane's. */
const READER = 'coalesce(waits_for(h.head_task_id), h.active_task_id)';

/** The task that holds a lane and may still read a message, with the number of messages that wait for it. */
export const laneHolder = statement(
  'lane_holder',
  ['thread_id', 'workflow_id'],
  `SELECT t.id AS task_id, t.definition_hash, (SELECT count(*)::int FROM thread_messages m WHERE m.task_id = t.id AND m.state = 'pending') AS waiting
    FROM (SELECT ${READER} AS active_task_id FROM threads h WHERE h.id = :thread_id
      UNION ALL SELECT active_task_id FROM workflows WHERE id = :workflow_id AND :thread_id::uuid IS NULL) lane
    JOIN tasks t ON t.id = lane.active_task_id WHERE t.status IN (${LIVE}) AND NOT t.halt_requested`,
);

/**
 * Writes a message for the task that holds its lane, unless another task holds it now, or this one is being stopped, or :claim is not the
 * last one of its request. The task is locked, so
 * that either its last step finds the message, or the message finds that the task has ended.
 */
export const steerMessage = statement(
  'steer_message',
  ['message', 'events', 'claim'],
  `WITH given AS MATERIALIZED (SELECT * FROM jsonb_populate_record(NULL::thread_messages, :message::jsonb)),
    thread AS MATERIALIZED (
      SELECT h.active_task_id, h.head_task_id, h.accepted_tasks FROM threads h, given WHERE h.id = given.thread_id FOR NO KEY UPDATE OF h),
    home AS MATERIALIZED (
      SELECT w.active_task_id, w.accepted_tasks FROM workflows w, given WHERE w.id = given.workflow_id AND given.thread_id IS NULL
      FOR NO KEY UPDATE OF w),
    lane AS MATERIALIZED (
      SELECT ${READER} AS active_task_id, accepted_tasks FROM thread h UNION ALL SELECT active_task_id, accepted_tasks FROM home),
    held AS MATERIALIZED (
      SELECT t.id, lane.accepted_tasks + 1 AS number FROM lane JOIN tasks t ON t.id = lane.active_task_id, given
      WHERE t.id = given.task_id AND t.status IN (${LIVE}) AND NOT t.halt_requested AND ${isLastClaim('given.id')} FOR NO KEY UPDATE OF t),
    message AS (
      INSERT INTO thread_messages (${NEW_MESSAGE.join(', ')}, state, number)
      SELECT ${NEW_MESSAGE.map((column) => `given.${column}`).join(', ')}, 'pending', held.number FROM given, held
      ON CONFLICT DO NOTHING RETURNING id, task_id, workflow_id, thread_id, number, attachments),
    of_thread AS (UPDATE threads h SET accepted_tasks = message.number FROM message WHERE h.id = message.thread_id),
    of_home AS (
      UPDATE workflows w SET accepted_tasks = message.number FROM message WHERE w.id = message.workflow_id AND message.thread_id IS NULL),
    files AS (
      INSERT INTO task_attachments (task_id, position, attachment_id)
      SELECT message.task_id, -(message.number * 100 + f.place), (f.file ->> 'id')::uuid
      FROM message, jsonb_array_elements(message.attachments) WITH ORDINALITY AS f (file, place))
    SELECT append_events(workflow_id, task_id, :events) AS last FROM message`,
);

/**
 * Withdraws a message that no run has read. If it has its own turn, the turn cannot begin any more. The task is locked first, so that the
 * message is either read or withdrawn.
 */
export const withdrawMessage = statement(
  'withdraw_message',
  ['id', 'events'],
  `WITH task AS MATERIALIZED (
      SELECT t.id, t.status FROM thread_messages m JOIN tasks t ON t.id = m.task_id WHERE m.id = :id FOR NO KEY UPDATE OF t),
    gone AS (
      UPDATE thread_messages m SET state = 'withdrawn', caller_token = NULL, caller_key_id = NULL, updated_at = now()
      FROM task WHERE m.id = :id AND m.task_id = task.id AND (m.state = 'pending' OR m.state = 'started' AND task.status = 'pending')
      RETURNING m.task_id, m.workflow_id),
    unrun AS (UPDATE tasks SET halt_requested = true FROM gone WHERE tasks.id = gone.task_id AND tasks.id = :id)
    SELECT task_id, append_events(workflow_id, task_id, :events) AS last FROM gone`,
);
