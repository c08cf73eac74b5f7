import { createHmac, randomBytes } from 'node:crypto';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Destination } from '../../domain/destinations.ts';
import { type Database, row } from '../database/database.ts';
import * as sql from './grants.sql.ts';
import type { KeyRing, Sealed } from './key-ring.ts';

const id = 'destinations';
const CONTEXT = 'grant-key';
const KEY_BYTES = 32;
const FINGERPRINT_DIGITS = 32;

/**
 * Fingerprints destinations with the installation's secret key: they include sealed values, which nobody may guess by hashing.
 */
export function grantKeys(pool: Database['pool'], keys: KeyRing) {
  const sealRow = (key: string) => {
    const { sealed, key_id } = keys.seal(key, CONTEXT);
    return { id, sealed: Buffer.from(sealed), key_id };
  };

  async function loadKey(): Promise<string> {
    const grant_key = await row<Sealed>(pool, sql.findGrantKey({ id }));
    if (grant_key) return keys.open(grant_key, CONTEXT);
    await row(pool, sql.makeGrantKey(sealRow(randomBytes(KEY_BYTES).toString('base64'))));
    return loadKey();
  }

  let key_promise: Promise<string> | undefined;
  const key = () => {
    key_promise ??= loadKey().catch((error) => {
      key_promise = undefined;
      throw error;
    });
    return key_promise;
  };

  return {
    /** Resolves once fingerprints need no database access. */
    ready: async (): Promise<void> => void (await key()),
    /** Returns a fingerprint that is equal for equal destinations, even after the key ring has changed. */
    async fingerprint({ kind, facts }: Pick<Destination, 'kind' | 'facts'>): Promise<string> {
      const mac = createHmac('sha256', await key()).update(`${kind}\n${canonicalJson(facts)}`);
      return mac.digest('hex').slice(0, FINGERPRINT_DIGITS);
    },
    /** Seals the key again with the active key. Returns how many changed. */
    async rotate(): Promise<number> {
      const grant_key = await row<Sealed>(pool, sql.findGrantKey({ id }));
      if (!grant_key || grant_key.key_id === keys.active_key_id) return 0;
      await row(pool, sql.resealGrantKey(sealRow(keys.open(grant_key, CONTEXT))));
      return 1;
    },
    /** Returns true if resources older than grants have been granted their tokens. */
    existingGranted: async () => (await row<{ done: boolean }>(pool, sql.existingGrantsGiven({ id })))?.done ?? false,
    async noteExistingGranted(): Promise<void> {
      await key();
      await row(pool, sql.noteExistingGrants({ id }));
    },
  };
}
export type GrantKeys = ReturnType<typeof grantKeys>;
