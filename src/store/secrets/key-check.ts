import { type Queryable, rows } from '../database/database.ts';
import * as sql from '../database/installation.sql.ts';
import type { KeyRing, Sealed } from './key-ring.ts';

const CONTEXT = 'key-check';

interface Sample extends Sealed {
  context: string;
}

/** Returns true if the database holds anything that only its key opens. */
export const holdsSealedData = async (pool: Queryable): Promise<boolean> => (await rows(pool, sql.sealedSamples())).length > 0;

/** Throws a sentence unless the ring opens what the database holds sealed; `source` names where the keys come from. */
export async function requireKeys(pool: Queryable, keys: KeyRing, source: string): Promise<void> {
  for (const sample of await rows<Sample>(pool, sql.sealedSamples())) requireKey(keys, sample, source);
}

/** Records that every ring must hold the active key from now on, until everything is sealed with another. */
export async function noteActiveKey(pool: Queryable, keys: KeyRing): Promise<void> {
  const { sealed, key_id } = keys.seal(CONTEXT, CONTEXT);
  await rows(pool, sql.noteKeyCheck({ key_id, sealed: Buffer.from(sealed) }));
}

/** Records that everything is sealed with the active key, so that rings need no other from now on. */
export async function forgetOtherKeys(pool: Queryable, { active_key_id }: KeyRing): Promise<void> {
  await rows(pool, sql.forgetKeyChecks({ key_id: active_key_id }));
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
