import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

export interface Sealed {
  sealed: Uint8Array<ArrayBuffer>;
  key_id: string;
}

/** Keys by id: the first one seals, all of them open. */
export interface KeyRing {
  /** Seals with AES-256-GCM. Opening needs the same `context`, so a sealed value cannot be moved to another place. */
  seal(text: string, context: string): Sealed;
  open(sealed: Sealed, context: string): string;
  /** Opens a value that may not be secret; the caller calls `recordSecret` with those that are. */
  openQuietly(sealed: Sealed, context: string): string;
  /** Called with every opened secret, so that it can be redacted from whatever its target returns. */
  recordSecret(value: string): void;
  /** True if it has the key with this id. */
  holds(key_id: string): boolean;
  /** Returns 12 hex digits of a keyed hash, which distinguish values without revealing them. */
  fingerprint(text: string): string;
  readonly active_key_id: string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FINGERPRINT_DIGITS = 12;

/**
 * Creates a key ring. `keys` is in the format of ENCRYPTION_KEYS: `id:base64` of 32 bytes each, comma separated, the active one
 * first.
 */
export function keyRing(keys: string, recordSecret: (value: string) => void = () => {}): KeyRing {
  const ring = new Map(keys.split(',').map((entry) => parseKey(entry.trim())));
  const active_key_id = ring.keys().next().value as string;
  const getKey = (id: string) => {
    const key = ring.get(id);
    if (!key) throw new Error(`The value is sealed with key "${id}", which ENCRYPTION_KEYS does not list; add that key`);
    return key;
  };
  const openQuietly: KeyRing['open'] = ({ sealed, key_id }, context) => {
    const bytes = Buffer.from(sealed);
    const decipher = createDecipheriv('aes-256-gcm', getKey(key_id), bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  };
  return {
    active_key_id,
    openQuietly,
    recordSecret: recordSecret,
    holds: (id) => ring.has(id),
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', getKey(active_key_id), nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return { sealed: new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), body])), key_id: active_key_id };
    },
    open(sealed, context) {
      const value = openQuietly(sealed, context);
      recordSecret(value);
      return value;
    },
    fingerprint: (text) => createHmac('sha256', getKey(active_key_id)).update(text).digest('hex').slice(0, FINGERPRINT_DIGITS),
  };
}

function parseKey(entry: string): [string, KeyObject] {
  const [id = '', encoded = ''] = entry.split(':');
  const key = Buffer.from(encoded, 'base64');
  if (!id || key.length !== 32)
    throw new Error('ENCRYPTION_KEYS must be `id:key` pairs, each key 32 bytes in base64, comma separated');
  return [id, createSecretKey(key)];
}
