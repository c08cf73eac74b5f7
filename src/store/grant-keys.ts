import { createHmac, randomBytes } from 'node:crypto';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { Destination } from '../domain/destinations.ts';
import { type Database, row } from './database.ts';
import type { KeyRing, Sealed } from './key-ring.ts';

const KEY = 'destinations';
const CONTEXT = 'grant-key';
const KEY_BYTES = 32;
const FINGERPRINT_DIGITS = 32;

const FIND = { name: 'find_grant_key', text: 'SELECT sealed, key_id FROM grant_keys WHERE id = $1' };
const MAKE = {
  name: 'make_grant_key',
  text: 'INSERT INTO grant_keys (id, sealed, key_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
};
const RESEAL = { name: 'reseal_grant_key', text: 'UPDATE grant_keys SET sealed = $2, key_id = $3 WHERE id = $1' };
const EXISTING = {
  name: 'existing_grants_given',
  text: 'SELECT existing_granted_at IS NOT NULL AS done FROM grant_keys WHERE id = $1',
};
const DONE = { name: 'note_existing_grants', text: 'UPDATE grant_keys SET existing_granted_at = now() WHERE id = $1' };

/** Fingerprints destinations with a key of the installation's own: sealed values are among what is fingerprinted, so nobody may try guesses. */
export function grantKeys(pool: Database['pool'], keys: KeyRing) {
  const sealedRow = (key: string) => {
    const { sealed, key_id } = keys.seal(key, CONTEXT);
    return [KEY, Buffer.from(sealed), key_id];
  };

  async function read(): Promise<string> {
    const found = await row<Sealed>(pool, FIND, [KEY]);
    if (found) return keys.open(found, CONTEXT);
    await row(pool, MAKE, sealedRow(randomBytes(KEY_BYTES).toString('base64')));
    return read();
  }

  let known: Promise<string> | undefined;
  const key = () => {
    known ??= read().catch((error) => {
      known = undefined;
      throw error;
    });
    return known;
  };

  return {
    /** Equal for equal destinations, whatever the key ring has come to hold. */
    async fingerprint({ kind, facts }: Pick<Destination, 'kind' | 'facts'>): Promise<string> {
      const mac = createHmac('sha256', await key()).update(`${kind}\n${canonicalJson(facts)}`);
      return mac.digest('hex').slice(0, FINGERPRINT_DIGITS);
    },
    /** Seals the key again with the active one. Returns how many were changed. */
    async rotate(): Promise<number> {
      const found = await row<Sealed>(pool, FIND, [KEY]);
      if (!found || found.key_id === keys.active_key_id) return 0;
      await row(pool, RESEAL, sealedRow(keys.open(found, CONTEXT)));
      return 1;
    },
    /** Whether what existed before there were grants has been granted. */
    existingGranted: async () => (await row<{ done: boolean }>(pool, EXISTING, [KEY]))?.done ?? false,
    async noteExistingGranted(): Promise<void> {
      await key();
      await row(pool, DONE, [KEY]);
    },
  };
}
export type GrantKeys = ReturnType<typeof grantKeys>;
