import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { keepFile } from './files.ts';

/** The access token of the person at this machine: made at the first start, the same ever after, readable by its owner only. */
export async function localToken(home: string): Promise<{ token: string; token_file: string; created: boolean }> {
  const token_file = join(home, 'local-token');
  const { text, created } = await keepFile(token_file, () => `perdura_${randomBytes(32).toString('base64url')}`);
  return { token: text, token_file, created };
}

/** The secret that webhook messages are signed with, as Standard Webhooks spells it. */
export async function webhookSecret(home: string): Promise<string> {
  const make = () => `whsec_${randomBytes(32).toString('base64')}`;
  return (await keepFile(join(home, 'webhook-secret'), make)).text;
}

/** The key that stored tokens are encrypted with: 32 bytes in base64. Losing the file loses those tokens. */
export async function encryptionKey(home: string): Promise<{ key: string; key_file: string; created: boolean }> {
  const key_file = join(home, 'encryption-key');
  const { text, created } = await keepFile(key_file, () => randomBytes(32).toString('base64'));
  return { key: text, key_file, created };
}
