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
