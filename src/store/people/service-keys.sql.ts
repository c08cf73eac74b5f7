import { statement } from '../database/statement.ts';

/** The keys that a key was made with, directly or not. */
const MAKERS = `makers AS (
      SELECT id, made_with, expires_at FROM service_keys WHERE id = :made_with::uuid
      UNION ALL SELECT k.id, k.made_with, k.expires_at FROM service_keys k JOIN makers m ON k.id = m.made_with)`;

export const endOfMakers = statement(
  'end_of_makers',
  ['made_with'],
  `WITH RECURSIVE ${MAKERS} SELECT min(expires_at) AS ends FROM makers`,
);

export const makerOfKey = statement(
  'maker_of_key',
  ['made_with', 'id'],
  `WITH RECURSIVE ${MAKERS} SELECT 1 AS found FROM makers WHERE id = :id::uuid`,
);

/** Locks a key that is valid now. */
export const holdKey = statement(
  'hold_key',
  ['id', 'hash'],
  `SELECT 1 AS held FROM service_keys WHERE id = :id::uuid AND hash = :hash AND (expires_at IS NULL OR expires_at > now())
    FOR NO KEY UPDATE`,
);

/** Limits the life of the keys made with a key, directly or not. Locks them oldest first, as every rotation does. */
export const endKeysMadeWith = statement(
  'end_keys_made_with',
  ['id', 'until'],
  `WITH RECURSIVE made AS (
      SELECT id FROM service_keys WHERE made_with = :id::uuid
      UNION ALL SELECT k.id FROM service_keys k JOIN made m ON k.made_with = m.id),
    held AS MATERIALIZED (SELECT id FROM service_keys WHERE id IN (SELECT id FROM made) ORDER BY id FOR NO KEY UPDATE),
    ended AS (
      UPDATE service_keys k SET expires_at = least(k.expires_at, :until) FROM held WHERE k.id = held.id
      RETURNING k.id, k.name, k.expires_at)
    SELECT id, name, expires_at FROM ended ORDER BY id`,
);
