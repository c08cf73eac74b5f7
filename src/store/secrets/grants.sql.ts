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
