import { statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/** A chat session: a thread `h` in the workflow `w` that was made for it. */
const SESSION = `threads h JOIN workflows w ON w.id = h.workflow_id AND w.single_use AND w.remember = 'thread'`;

/** The turns of the branch in use of a thread. */
const branchOf = (thread: string) => `
    WITH RECURSIVE branch AS (
      SELECT t.id, t.previous_task_id FROM threads own JOIN tasks t ON t.id = own.head_task_id WHERE own.id = ${thread}
      UNION ALL SELECT t.id, t.previous_task_id FROM branch b JOIN tasks t ON t.id = b.previous_task_id)`;

/** The texts that the model has written in task `t`. */
const TEXTS = `FROM task_messages m WHERE m.task_id = t.id AND m.role = 'assistant' AND m.kind IN ('reply', 'partial') AND m.content <> ''`;
const TEXT = `coalesce((SELECT string_agg(m.content, E'\\n\\n' ORDER BY m.step, m.position) ${TEXTS}), '')`;
const HAS_REPLY = `(t.status NOT IN (${LIVE}) AND EXISTS (SELECT 1 ${TEXTS}))`;

const FIELDS = `h.id, h.owner, h.workflow_id, w.agent_id, h.created_at, h.updated_at,
    coalesce(h.title, (${branchOf('h.id')}
      SELECT left(btrim(t.prompt), 80) FROM branch b JOIN tasks t ON t.id = b.id WHERE b.previous_task_id IS NULL), '') AS title,
    (${branchOf('h.id')}
      SELECT count(*) + count(*) FILTER (WHERE ${HAS_REPLY}) FROM branch b JOIN tasks t ON t.id = b.id)::int AS message_count`;

export const findChat = statement('find_chat', ['id'], `SELECT ${FIELDS} FROM ${SESSION} WHERE h.id = :id`);

/** The sessions of a person with an agent, newest first, and how many there are in all. */
export const listChats = statement(
  'list_chats',
  ['owner', 'agent_id', 'skip', 'limit'],
  `WITH found AS MATERIALIZED (
      SELECT h.id FROM ${SESSION} WHERE h.owner = :owner AND w.agent_id = :agent_id),
    page AS (SELECT id FROM found ORDER BY id DESC OFFSET :skip::int LIMIT :limit::int)
    SELECT ${FIELDS}, (SELECT count(*) FROM found)::int AS total FROM page JOIN ${SESSION} ON h.id = page.id
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, (SELECT count(*) FROM found)::int WHERE NOT EXISTS (SELECT 1 FROM page)
    ORDER BY id DESC`,
);

const TURN = `t.id, t.prompt, t.status, t.error, ${TEXT} AS text, t.total_in, t.total_out, t.usage_estimated AS estimated, t.truncated,
    t.created_at, t.completed_at`;

export const findChatTurn = statement('find_chat_turn', ['task_id'], `SELECT ${TURN} FROM tasks t WHERE t.id = :task_id`);

/** The turns of the branch in use, oldest first; that in progress with what its model has written since its last whole message. */
export const listChatTurns = statement(
  'list_chat_turns',
  ['id'],
  `${branchOf(':id')}
    SELECT ${TURN}, h.active_task_id = t.id AS is_active,
      CASE WHEN h.active_task_id = t.id THEN (
        SELECT string_agg(e.data ->> 'delta', '' ORDER BY e.seq) FROM events e WHERE e.task_id = t.id AND e.type = 'message_delta'
          AND e.seq > coalesce((SELECT max(o.seq) FROM events o WHERE o.task_id = t.id
            AND ((o.type = 'message' AND o.data ->> 'role' = 'assistant') OR (o.type = 'log' AND o.data ->> 'event' = 'attempt_reset'))), 0)
      ) END AS unfinished
    FROM branch b JOIN tasks t ON t.id = b.id JOIN threads h ON h.id = :id ORDER BY t.thread_turn`,
);

/** The turn whose reply is in progress; with `ended`, otherwise the last one. With `question_id`, that one. */
export const followedTurn = statement(
  'followed_turn',
  ['id', 'question_id', 'ended', 'kept_ms'],
  `SELECT t.id AS task_id, t.workflow_id, t.status NOT IN (${LIVE}) AS has_ended,
      coalesce(t.completed_at > now() - :kept_ms::float8 * interval '1 millisecond', true) AS has_pieces
    FROM threads h JOIN tasks t ON t.thread_id = h.id
      AND t.id = coalesce(:question_id::uuid, h.active_task_id, CASE WHEN :ended::boolean THEN h.head_task_id END)
    WHERE h.id = :id`,
);

/** The turns that have not ended, newest first: of one session, or of all sessions with an agent. */
export const liveTurns = statement(
  'live_turns',
  ['session_id', 'agent_id'],
  `SELECT t.id FROM ${SESSION} JOIN tasks t ON t.thread_id = h.id
    WHERE (h.id = :session_id::uuid OR w.agent_id = :agent_id::uuid) AND t.status IN (${LIVE}) ORDER BY t.id DESC`,
);

export const workflowsOfChats = statement(
  'workflows_of_chats',
  ['agent_id'],
  `SELECT id FROM workflows WHERE agent_id = :agent_id AND single_use AND remember = 'thread' ORDER BY id`,
);
