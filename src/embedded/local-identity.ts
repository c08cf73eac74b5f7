import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { exists, keepFile } from './files.ts';

/**
 * Returns the access token of the person at this machine. It is created at the first start, never changes, and is readable only
 * by its owner.
 */
export async function localToken(home: string): Promise<{ token: string; token_file: string; created: boolean }> {
  const token_file = join(home, 'local-token');
  const { text, created } = await keepFile(token_file, () => `perdura_${randomBytes(32).toString('base64url')}`);
  return { token: text, token_file, created };
}

/** Returns the secret that webhook messages are signed with, in the format of Standard Webhooks. */
export async function webhookSecret(home: string): Promise<string> {
  const make = () => `whsec_${randomBytes(32).toString('base64')}`;
  return (await keepFile(join(home, 'webhook-secret'), make)).text;
}

const KEY_BYTES = 32;

export const encryptionKeyFile = (home: string): string => join(home, 'encryption-key');

/**
 * Returns the key that encrypts stored tokens: 32 bytes in base64. If its file is lost, those tokens are lost, so a new key is
 * created only while `isSealed` finds nothing that another key encrypted.
 */
export async function encryptionKey(
  home: string,
  isSealed: () => Promise<boolean>,
): Promise<{ key: string; key_file: string; created: boolean }> {
  const key_file = encryptionKeyFile(home);
  if (!(await exists(key_file)) && (await isSealed()))
    throw new Error(
      `The key file ${key_file} is missing, and the database holds values sealed with its key. Restore the file from a backup, or set ENCRYPTION_KEYS.`,
    );
  const { text, created } = await keepFile(key_file, () => randomBytes(KEY_BYTES).toString('base64'));
  if (Buffer.from(text, 'base64').length !== KEY_BYTES)
    throw new Error(`The key file ${key_file} does not hold ${KEY_BYTES} bytes in base64. Restore it from a backup.`);
  return { key: text, key_file, created };
}
