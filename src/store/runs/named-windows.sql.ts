import { statement } from '../database/statement.ts';

/**
 * What was named before the provider was changed may be about another endpoint. A refusal counts for a day: servers are started again
 * with other sizes, and a sentence may have been misread.
 */
const COUNTS = "w.named_at >= p.updated_at AND (NOT w.is_refusal OR w.named_at > now() - interval '1 day')";

/** The context windows that a provider's endpoint named. */
export const listNamedWindows = statement(
  'list_named_windows',
  ['provider_id'],
  `SELECT w.model, w.context_window FROM named_windows w JOIN providers p ON p.id = w.provider_id
    WHERE w.provider_id = :provider_id AND ${COUNTS}`,
);

export const findNamedWindow = statement(
  'find_named_window',
  ['provider_id', 'model'],
  `SELECT w.context_window FROM named_windows w JOIN providers p ON p.id = w.provider_id
    WHERE w.provider_id = :provider_id AND w.model = :model AND ${COUNTS}`,
);

/**
 * Writes the windows of several models. A refusal is about the very window that is served, so a list does not replace it for a day. The
 * locks are taken in the order of the names, as several lists may be written at once.
 */
export const writeNamedWindows = statement(
  'write_named_windows',
  ['provider_id', 'windows', 'is_refusal'],
  `INSERT INTO named_windows AS w (provider_id, model, context_window, is_refusal, named_at)
    SELECT p.id, named.model, named.context_window, :is_refusal::boolean, now()
      FROM providers p, jsonb_to_recordset(:windows::jsonb) AS named (model text, context_window int)
      WHERE p.id = :provider_id ORDER BY named.model
    ON CONFLICT (provider_id, model) DO UPDATE SET context_window = excluded.context_window, is_refusal = excluded.is_refusal,
      named_at = excluded.named_at
    WHERE excluded.is_refusal OR NOT w.is_refusal OR w.named_at <= now() - interval '1 day'
      OR w.named_at < (SELECT updated_at FROM providers WHERE id = w.provider_id)`,
);

/** Forgets the listed sizes of models that a provider no longer lists, so that there are never more than it lists at once. */
export const forgetUnlistedWindows = statement(
  'forget_unlisted_windows',
  ['provider_id', 'models'],
  `DELETE FROM named_windows WHERE provider_id = :provider_id AND model IN (
    SELECT w.model FROM named_windows w
      WHERE w.provider_id = :provider_id AND NOT w.is_refusal AND w.model <> ALL (:models::text[]) ORDER BY w.model FOR NO KEY UPDATE)`,
);
