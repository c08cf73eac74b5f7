import { statement } from '../database/statement.ts';

export const findGrantKey = statement('find_grant_key', ['id'], `SELECT sealed, key_id FROM grant_keys WHERE id = :id`);

export const makeGrantKey = statement(
  'make_grant_key',
  ['id', 'sealed', 'key_id'],
  `INSERT INTO grant_keys (id, sealed, key_id) VALUES (:id, :sealed, :key_id) ON CONFLICT DO NOTHING`,
);

export const resealGrantKey = statement(
  'reseal_grant_key',
  ['id', 'sealed', 'key_id'],
  `UPDATE grant_keys SET sealed = :sealed, key_id = :key_id WHERE id = :id`,
);

export const existingGrantsGiven = statement(
  'existing_grants_given',
  ['id'],
  `SELECT existing_granted_at IS NOT NULL AS done FROM grant_keys WHERE id = :id`,
);

export const noteExistingGrants = statement(
  'note_existing_grants',
  ['id'],
  `UPDATE grant_keys SET existing_granted_at = now() WHERE id = :id`,
);

/** Replaces what a resource was granted by what it asks for now. One statement, so that no moment has both or neither. */
export const replaceGrants = statement(
  'replace_grants',
  ['principal', 'kind', 'id', 'wanted'],
  `WITH wanted AS (
      SELECT * FROM jsonb_to_recordset(:wanted::jsonb) AS w (id uuid, token_name text, destination text, label text)),
    ended AS (
      UPDATE secret_grants g SET superseded_at = now()
      WHERE granted_by = :principal AND resource_kind = :kind AND resource_id = :id AND superseded_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM wanted w WHERE w.token_name = g.token_name AND w.destination = g.destination))
    INSERT INTO secret_grants (id, token_name, granted_by, resource_kind, resource_id, destination, destination_label)
    SELECT w.id, w.token_name, :principal, :kind, :id, w.destination, w.label FROM wanted w
    WHERE NOT EXISTS (SELECT 1 FROM secret_grants g WHERE g.granted_by = :principal AND g.resource_kind = :kind
      AND g.resource_id = :id AND g.superseded_at IS NULL AND g.token_name = w.token_name AND g.destination = w.destination)`,
);
