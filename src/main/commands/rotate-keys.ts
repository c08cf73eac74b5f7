import { openDatabase } from '../../store/database/database.ts';
import { requireOwnSchema } from '../../store/database/migrations.ts';
import { noteActiveKey, requireKeys } from '../../store/secrets/key-check.ts';
import { keyRing } from '../../store/secrets/key-ring.ts';
import { rotateKeys } from '../../store/upkeep/rotation.ts';
import type { Config } from '../config.ts';
import { MIGRATIONS } from '../places.ts';
import { parseCommand } from '../remote/options.ts';
import { describeKeySource } from '../setting.ts';
import { print, sayJson } from '../terminal.ts';

export default async function runRotateKeys(config: Config, args: string[] = []): Promise<void> {
  const json = parseCommand('rotate-keys', args).has('json');
  const { DATABASE_URL, ENCRYPTION_KEYS } = config;
  if (!DATABASE_URL || !ENCRYPTION_KEYS)
    throw new Error('Set DATABASE_URL and ENCRYPTION_KEYS, the new key first and the old ones after it');
  const database = openDatabase({ url: config.DATABASE_DIRECT_URL ?? DATABASE_URL });
  try {
    await requireOwnSchema(database.pool, MIGRATIONS);
    const keys = keyRing(ENCRYPTION_KEYS);
    await requireKeys(database.pool, keys, describeKeySource(config));
    await noteActiveKey(database.pool, keys);
    const rotated = await rotateKeys(database, keys);
    if (json) return sayJson({ key_id: keys.active_key_id, ...rotated });
    const { tokens, schedules, connections, mcp_sign_ins, definitions, runs, webhook_secrets } = rotated;
    print(
      `${tokens} stored tokens, the access tokens of ${schedules} schedules and ${runs} runs, the secrets of ${connections} connections, ${mcp_sign_ins} sign-ins at MCP servers and ${definitions} pinned definitions, and the webhook secrets of ${webhook_secrets} owners are now sealed with the key ${keys.active_key_id}\n`,
    );
  } finally {
    await database.close();
  }
}
