import { statement } from '../database/statement.ts';

export const startReplying = statement(
  'start_replying',
  ['id', 'seconds'],
  `UPDATE chat_messages SET reply_until = now() + make_interval(secs => :seconds) WHERE id = :id::uuid`,
);

export const keepReplying = statement(
  'keep_replying',
  ['ids', 'seconds'],
  `UPDATE chat_messages SET reply_until = now() + make_interval(secs => :seconds)
    WHERE id = ANY (:ids::uuid[]) AND reply_until IS NOT NULL`,
);

/** Whether an earlier question of the session is still being replied to. */
export const behindAnother = statement(
  'behind_another',
  ['session_id', 'question_id'],
  `SELECT EXISTS (
    SELECT 1 FROM chat_messages q JOIN chat_messages mine ON mine.id = :question_id::uuid
    WHERE q.session_id = :session_id::uuid AND q.reply_until > now() AND (q.created_at, q.id) < (mine.created_at, mine.id)) AS behind`,
);

/** Adds parts of a reply in progress; repeating it adds nothing. */
export const addReplyParts = statement(
  'add_reply_parts',
  ['question_id', 'first', 'parts'],
  `INSERT INTO chat_parts (question_id, first, parts)
   SELECT id, :first::int, :parts::text[] FROM chat_messages WHERE id = :question_id::uuid
   ON CONFLICT DO NOTHING`,
);

/** The reply to a question: its parts from number `next` on, whether it is being written, and how it ended. */
export const readReply = statement(
  'read_reply',
  ['question_id', 'next'],
  `SELECT coalesce(q.reply_until > now(), false) AS writing, q.reply_error AS error, a.id AS answer_id, a.prompt_tokens,
     a.completion_tokens, a.estimated, a.truncated, length(a.content) AS characters,
     (SELECT coalesce(json_agg(p.parts ORDER BY p.first), '[]') FROM chat_parts p
       WHERE p.question_id = q.id AND p.first >= :next::int) AS deltas
    FROM chat_messages q LEFT JOIN chat_messages a ON a.session_id = q.session_id AND a.question_id = q.id
    WHERE q.id = :question_id::uuid`,
);

/**
 * The first question of a session that is being replied to; with `ended`, otherwise the last one whose parts are still kept. Of a
 * `question_id`: that question or none.
 */
export const followedQuestion = statement(
  'followed_question',
  ['session_id', 'question_id', 'ended'],
  `SELECT id FROM (
    SELECT q.id, q.created_at, q.reply_until > now() IS TRUE AS writing,
      :ended::boolean AND EXISTS (SELECT 1 FROM chat_parts p WHERE p.question_id = q.id) AS kept
    FROM chat_messages q
    WHERE q.session_id = :session_id::uuid AND (:question_id::uuid IS NULL OR q.id = :question_id::uuid)) AS question
   WHERE writing OR kept
   ORDER BY writing DESC, CASE WHEN writing THEN created_at END, created_at DESC, id LIMIT 1`,
);
