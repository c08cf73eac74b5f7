import { type Queryable, rows } from './database.ts';
import type { KeyRing, Sealed } from './key-ring.ts';

/** A fact for each key that seals: a text of no meaning, sealed with it. */
const CHECK = 'key_check:';
const CONTEXT = 'key-check';

/** What the ring has to open: the check of each key, and a value of each kind that is older than checks. */
const SAMPLES = {
  name: 'sealed_samples',
  text: `SELECT substr(name, ${CHECK.length + 1}) AS key_id, decode(value, 'base64') AS sealed, '${CONTEXT}' AS context
      FROM installation_facts WHERE name LIKE '${CHECK}%'
    UNION ALL SELECT key_id, sealed, 'grant-key' FROM grant_keys
    UNION ALL (SELECT DISTINCT ON (key_id) key_id, sealed, 'stored-token:' || name FROM stored_tokens)`,
};
const NOTE = {
  name: 'note_key_check',
  text: `INSERT INTO installation_facts (name, value) VALUES ('${CHECK}' || $1, encode($2::bytea, 'base64')) ON CONFLICT DO NOTHING`,
};
const FORGET = {
  name: 'forget_key_checks',
  text: `DELETE FROM installation_facts WHERE name LIKE '${CHECK}%' AND name <> '${CHECK}' || $1`,
};

interface Sample extends Sealed {
  context: string;
}

/** Whether the database holds anything that only its key opens. */
export const holdsSealedData = async (pool: Queryable): Promise<boolean> => (await rows(pool, SAMPLES, [])).length > 0;

/**
 * Throws a sentence unless the ring opens what the database holds sealed; `source` names where the keys come from. The active key
 * is noted, and from then on every ring must hold it, until everything is sealed with another.
 */
export async function requireKeys(pool: Queryable, keys: KeyRing, source: string): Promise<void> {
  for (const sample of await rows<Sample>(pool, SAMPLES, [])) requireKey(keys, sample, source);
  const { sealed, key_id } = keys.seal(CONTEXT, CONTEXT);
  await rows(pool, NOTE, [key_id, Buffer.from(sealed)]);
}

/** Everything is sealed with the active key: rings need no other from now on. */
export async function forgetOtherKeys(pool: Queryable, { active_key_id }: KeyRing): Promise<void> {
  await rows(pool, FORGET, [active_key_id]);
}

function requireKey(keys: KeyRing, { context, ...sample }: Sample, source: string): void {
  const next_step = `Restore it in ${source}: without it nobody can read the stored tokens and other secrets in the database.`;
  if (!keys.holds(sample.key_id))
    throw new Error(`The database holds values sealed with the key "${sample.key_id}", which is missing. ${next_step}`);
  try {
    keys.openQuietly(sample, context);
  } catch {
    throw new Error(`The key "${sample.key_id}" is not the one that values in the database are sealed with. ${next_step}`);
  }
}
