import { statement } from '../database/statement.ts';

/** A refusal counts for a day: servers are started again with other sizes, and a sentence may have been misread. */
const COUNTS = "(NOT w.is_refusal OR w.named_at > now() - interval '1 day')";

/** Selects the size that was named for the provider and the model of a run's definition, with the endpoint that named it. */
export const NAMED_FOR_RUN = `(SELECT json_build_object('context_window', w.context_window, 'endpoint', w.endpoint)
  FROM definitions d JOIN named_windows w ON w.provider_id = (d.body #>> '{provider,id}')::uuid AND w.model = coalesce(d.body ->> 'model', '')
  WHERE d.hash = t.definition_hash AND ${COUNTS})`;

/** The context windows that an endpoint of a provider named. */
export const listNamedWindows = statement(
  'list_named_windows',
  ['provider_id', 'endpoint'],
  `SELECT w.model, w.context_window FROM named_windows w
    WHERE w.provider_id = :provider_id AND w.endpoint = :endpoint AND ${COUNTS}`,
);

export const findNamedWindow = statement(
  'find_named_window',
  ['provider_id', 'model'],
  `SELECT w.context_window, w.endpoint FROM named_windows w WHERE w.provider_id = :provider_id AND w.model = :model AND ${COUNTS}`,
);

/**
 * Writes the windows of several models. A refusal is about the very window that is served, so a list of the same endpoint does not replace
 * it for a day. The locks are taken in the order of the names, as several lists may be written at once.
 */
export const writeNamedWindows = statement(
  'write_named_windows',
  ['provider_id', 'endpoint', 'windows', 'is_refusal'],
  `INSERT INTO named_windows AS w (provider_id, endpoint, model, context_window, is_refusal, named_at)
    SELECT p.id, :endpoint, named.model, named.context_window, :is_refusal::boolean, now()
      FROM providers p, jsonb_to_recordset(:windows::jsonb) AS named (model text, context_window int)
      WHERE p.id = :provider_id ORDER BY named.model
    ON CONFLICT (provider_id, model) DO UPDATE SET endpoint = excluded.endpoint, context_window = excluded.context_window,
      is_refusal = excluded.is_refusal, named_at = excluded.named_at
    WHERE excluded.is_refusal OR NOT ${COUNTS} OR NOT w.is_refusal OR w.endpoint <> excluded.endpoint`,
);

/**
 * Forgets the listed sizes of models that a provider no longer lists, and those of its earlier endpoints, so that there are never more than
 * it lists at once.
 */
export const forgetUnlistedWindows = statement(
  'forget_unlisted_windows',
  ['provider_id', 'endpoint', 'models'],
  `DELETE FROM named_windows WHERE provider_id = :provider_id AND model IN (
    SELECT w.model FROM named_windows w
      WHERE w.provider_id = :provider_id AND w.model <> ALL (:models::text[]) AND NOT (w.is_refusal AND w.endpoint = :endpoint)
      ORDER BY w.model FOR NO KEY UPDATE)`,
);
