import { statement } from '../statement.ts';

/** What a key ring has to decrypt: the check of each key, and a value of each kind that is older than checks. */
export const sealedSamples = statement(
  'sealed_samples',
  [],
  `SELECT substr(name, 11) AS key_id, decode(value, 'base64') AS sealed, 'key-check' AS context
      FROM installation_facts WHERE name LIKE 'key\\_check:%'
    UNION ALL SELECT key_id, sealed, 'grant-key' FROM grant_keys
    UNION ALL (SELECT DISTINCT ON (key_id) key_id, sealed, 'stored-token:' || name FROM stored_tokens)`,
);

export const noteKeyCheck = statement(
  'note_key_check',
  ['key_id', 'sealed'],
  `INSERT INTO installation_facts (name, value) VALUES ('key_check:' || :key_id, encode(:sealed, 'base64')) ON CONFLICT DO NOTHING`,
);

export const forgetKeyChecks = statement(
  'forget_key_checks',
  ['key_id'],
  `DELETE FROM installation_facts WHERE name LIKE 'key\\_check:%' AND name <> 'key_check:' || :key_id`,
);

/** Fresh text that cannot be compressed takes new pages, so it finds out that there are none. */
export const probeWriting = statement(
  'probe_writing',
  ['text'],
  `INSERT INTO installation_facts (name, value) VALUES ('write_probe', :text)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = now()`,
);

/** From now on events written over this connection notify nobody. */
export const notifyNobody = statement('notify_nobody', [], "SELECT set_config('perdura.notify', 'off', false)");
