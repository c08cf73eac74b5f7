import { statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/** Adds items that the next turn takes. Adds nothing while a turn is in progress. */
export const addConversationItems = statement(
  'add_conversation_items',
  ['thread_id', 'items', 'created_by'],
  `WITH thread AS (
      UPDATE threads SET updated_at = now() WHERE id = :thread_id AND active_task_id IS NULL RETURNING id)
    INSERT INTO conversation_items (id, thread_id, position, item, created_by)
      SELECT (added ->> 'id')::uuid, thread.id, last.position + place, added -> 'item', :created_by
      FROM thread CROSS JOIN (SELECT coalesce(max(position), 0) AS position FROM conversation_items WHERE thread_id = :thread_id) last,
        jsonb_array_elements(:items::jsonb) WITH ORDINALITY AS each (added, place)
    RETURNING id`,
);

/** Links files to an item. The result lacks files that were removed in the meantime. */
export const keepItemFiles = statement(
  'keep_item_files',
  ['item_id', 'ids'],
  `WITH held AS MATERIALIZED (SELECT id FROM attachments WHERE id = ANY (:ids::uuid[]) FOR KEY SHARE)
    INSERT INTO conversation_files (item_id, attachment_id) SELECT :item_id, id FROM held RETURNING attachment_id`,
);

export const takeConversationItems = statement(
  'take_conversation_items',
  ['thread_id', 'ids'],
  `DELETE FROM conversation_items WHERE thread_id = :thread_id AND id = ANY (:ids::uuid[]) RETURNING id`,
);

/** The number and the bytes of the items that no turn has taken. */
export const conversationSize = statement(
  'conversation_size',
  ['thread_id'],
  `SELECT count(*)::int AS items, coalesce(sum(octet_length(item::text)), 0)::float8 AS bytes
    FROM conversation_items WHERE thread_id = :thread_id`,
);

/** The turns of the branch in use that count: all but those in progress. */
const BRANCH = `WITH RECURSIVE turns AS (
      SELECT t.* FROM threads h JOIN tasks t ON t.id = h.head_task_id WHERE h.id = :thread_id
      UNION ALL SELECT t.* FROM turns n JOIN tasks t ON t.id = n.previous_task_id)`;
/** Context that Perdura adds, such as memories, is not an item, unless it was given as one. */
const SHOWN = `e.status NOT IN (${LIVE}) AND NOT m.omitted AND (e.trigger = 'imported' OR m.kind IN ('prompt', 'reply', 'partial', 'result', 'denial', 'steer')
      AND (m.content <> '' OR m.tool_calls IS NOT NULL OR m.role = 'tool'))`;
const MESSAGE = `e.id AS task_id, e.trigger, e.thread_turn AS turn, m.step, m.position, m.role, m.kind, m.content, m.tool_calls, m.call_id,
      CASE e.trigger WHEN 'imported' THEN m.extra END AS extra, e.prompt_parts, e.attachments,
      CASE WHEN e.status = 'completed' AND m.kind = 'reply' AND m.step = e.steps THEN jsonb_build_object('response', e.response) END AS answer`;

const buildPage = (order: 'asc' | 'desc') =>
  statement(
    `conversation_messages_${order}`,
    ['thread_id', 'turn', 'step', 'position', 'limit'],
    `${BRANCH} SELECT ${MESSAGE} FROM turns e JOIN task_messages m ON m.task_id = e.id
      WHERE ${SHOWN} AND (:turn::int IS NULL
        OR (e.thread_turn, m.step, m.position) ${order === 'asc' ? '>=' : '<='} (:turn, :step::int, :position::int))
      ORDER BY ${['e.thread_turn', 'm.step', 'm.position'].map((column) => `${column} ${order}`).join(', ')} LIMIT :limit`,
  );

/** The messages of a conversation in both orders, from one of them on. */
export const conversationMessagesAsc = buildPage('asc');
export const conversationMessagesDesc = buildPage('desc');

/** The messages of one turn, and those that were given under this id. */
export const conversationMessagesOf = statement(
  'conversation_messages_of',
  ['thread_id', 'id'],
  `${BRANCH} SELECT ${MESSAGE} FROM turns e JOIN task_messages m ON m.task_id = e.id
    WHERE ${SHOWN} AND (e.id = :id::uuid OR e.trigger = 'imported' AND m.extra @> jsonb_build_object('items', jsonb_build_array(jsonb_build_object('id', :id::text))))
    ORDER BY m.step, m.position`,
);

/**
 * Leaves a message out of what later turns read; calls go with their results. So do the summaries of the thread, which may cover it.
 */
export const omitMessage = statement(
  'omit_message',
  ['thread_id', 'task_id', 'step', 'position'],
  `WITH gone AS (
      UPDATE task_messages m SET omitted = true WHERE m.task_id = :task_id AND m.step = :step AND NOT m.omitted AND (
        m.position = :position OR (m.kind IN ('reply', 'result', 'denial') AND EXISTS (
          SELECT 1 FROM task_messages o WHERE o.task_id = :task_id AND o.step = :step AND o.position = :position
            AND (o.tool_calls IS NOT NULL OR o.call_id IS NOT NULL)))) RETURNING 1),
    summaries AS (
      UPDATE task_messages m SET omitted = true FROM tasks t
      WHERE t.thread_id = :thread_id AND m.task_id = t.id AND m.kind = 'summary' AND NOT m.omitted)
    SELECT count(*)::int AS removed FROM gone`,
);

export const lockThread = statement('lock_thread', ['id'], `SELECT id FROM threads WHERE id = :id FOR NO KEY UPDATE`);

/** Turns of a deleted conversation stay as runs. Those in progress continue, and wait for nobody. */
export const detachTurns = statement(
  'detach_turns',
  ['id'],
  `UPDATE tasks SET thread_id = NULL, beside_lane = beside_lane OR status IN (${LIVE}) WHERE thread_id = :id`,
);

export const removeConversation = statement('remove_conversation', ['id'], `DELETE FROM threads WHERE id = :id`);
