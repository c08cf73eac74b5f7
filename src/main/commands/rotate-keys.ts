import { connectionStores } from '../../store/connections.ts';
import { openDatabase } from '../../store/database.ts';
import { keyRing } from '../../store/key-ring.ts';
import { scheduleStore } from '../../store/scheduled-agents.ts';
import { tokenStore } from '../../store/tokens.ts';
import type { Config } from '../config.ts';

export async function command({ DATABASE_URL, ENCRYPTION_KEYS }: Config): Promise<void> {
  if (!DATABASE_URL || !ENCRYPTION_KEYS)
    throw new Error('Set DATABASE_URL and ENCRYPTION_KEYS, the new key first and the old ones after it');
  const database = openDatabase({ url: DATABASE_URL });
  try {
    const keys = keyRing(ENCRYPTION_KEYS);
    const moved = await tokenStore(database, keys).rotate();
    const schedules = await scheduleStore({ ...database, keys }).rotate();
    const { mcpServers, knowledgeSources } = connectionStores(database.prisma, keys);
    const connections = (await mcpServers.rotate()) + (await knowledgeSources.rotate());
    process.stdout.write(
      `${moved} stored tokens, the access tokens of ${schedules} schedules and the secrets of ${connections} connections are now sealed with the key ${keys.active_key_id}\n`,
    );
  } finally {
    await database.close();
  }
}
