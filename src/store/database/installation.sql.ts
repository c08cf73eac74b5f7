import { statement } from './statement.ts';

/**
 * Returns the values that a key ring has to decrypt: the check of each key, and a value of each kind that is older than checks.
 */
export const sealedSamples = statement(
  'sealed_samples',
  [],
  `SELECT substr(name, 11) AS key_id, decode(value, 'base64') AS sealed, 'key-check' AS context
      FROM installation_facts WHERE name LIKE 'key\\_check:%'
    UNION ALL SELECT key_id, sealed, 'grant-key' FROM grant_keys
    UNION ALL (SELECT DISTINCT ON (key_id) key_id, sealed, 'stored-token:' || name FROM stored_tokens)
    UNION ALL (SELECT DISTINCT ON (key_id) key_id, sealed, 'mcp-sign-in:' || server_id || ':' || principal FROM mcp_sign_ins)`,
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

/** Writes fresh text that cannot be compressed. It needs new pages, so it fails if there are none. */
export const probeWriting = statement(
  'probe_writing',
  ['text'],
  `INSERT INTO installation_facts (name, value) VALUES ('write_probe', :text)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = now()`,
);

/** Begins the first epoch. This is not a migration, so that databases made from one template are different installations. */
export const beginFirstEpoch = statement(
  'begin_first_epoch',
  [],
  `INSERT INTO installation_facts (name, value)
    VALUES ('epoch', jsonb_build_object('installation', gen_random_uuid(), 'epoch', 1, 'beat', 1)::text) ON CONFLICT DO NOTHING`,
);

export const readEpoch = statement('read_epoch', [], `SELECT value::jsonb AS epoch FROM installation_facts WHERE name = 'epoch'`);

export const countRestoredTasks = statement(
  'count_restored_tasks',
  [],
  'SELECT count(*)::int AS tasks FROM tasks WHERE restored_at IS NOT NULL AND completed_at IS NULL',
);

/**
 * Reads the position of the write-ahead log with functions that ordinary accounts may call. The log's name shows a new timeline
 * at once, the control data only after a checkpoint.
 */
export const readLogPlace = statement(
  'read_log_place',
  [],
  `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
      ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int AS timeline,
      (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::float8 AS written
    WHERE NOT pg_is_in_recovery()`,
);

export const lockEpoch = statement(
  'lock_epoch',
  [],
  `SELECT value::jsonb AS epoch FROM installation_facts WHERE name = 'epoch' FOR NO KEY UPDATE`,
);

export const noteServer = statement(
  'note_server',
  ['server'],
  `UPDATE installation_facts SET value = (value::jsonb || jsonb_build_object('server', :server::jsonb))::text WHERE name = 'epoch'`,
);

/** Advances the beat, one worker at a time. A recorded server stays: only a new epoch may replace it. */
export const advanceBeat = statement(
  'advance_beat',
  ['older_than', 'server'],
  `UPDATE installation_facts SET updated_at = now(),
      value = (jsonb_strip_nulls(jsonb_build_object('server', :server::jsonb)) || value::jsonb
        || jsonb_build_object('beat', (value::jsonb ->> 'beat')::integer + 1))::text
    WHERE name = 'epoch' AND updated_at <= now() - make_interval(secs => :older_than) RETURNING value::jsonb AS epoch`,
);

export const beginNextEpoch = statement(
  'begin_next_epoch',
  ['epoch', 'beat'],
  'SELECT epoch, restored_at, tasks FROM note_restore(:epoch, :beat)',
);

export const findFact = statement('find_fact', ['name'], `SELECT value FROM installation_facts WHERE name = :name`);

export const writeFact = statement(
  'write_fact',
  ['name', 'value'],
  `INSERT INTO installation_facts (name, value) VALUES (:name, :value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = now()`,
);

/** Lists the database's processes that work on a statement, including this one. */
export const workingBackends = statement('working_backends', [], `SELECT pid FROM pg_stat_activity WHERE state = 'active'`);

/** Makes the statements of this transaction be planned for their values. */
export const planForValues = statement('plan_for_values', [], `SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`);
