import { parseArgs } from 'node:util';
import { openDatabase } from '../../store/database.ts';
import { createStore } from '../../store/index.ts';
import { noteActiveKey, requireKeys } from '../../store/key-check.ts';
import { type KeyRing, keyRing } from '../../store/key-ring.ts';
import { applyMigrations } from '../../store/migrations.ts';
import { grantToToolsRole } from '../../store/tools-role.ts';
import type { Config } from '../config.ts';
import { MIGRATIONS } from '../places.ts';
import { keySource } from '../setting.ts';

/** `perdura migrate [--tools-role NAME]`. */
export default async function runMigrate(config: Config, args: string[]): Promise<void> {
  const { 'tools-role': tools_role } = parseArgs({ args, options: { 'tools-role': { type: 'string' } } }).values;
  const { DATABASE_URL, ENCRYPTION_KEYS } = config;
  if (!DATABASE_URL) throw new Error('Set DATABASE_URL; an embedded installation migrates by itself when it starts');
  const fresh = await applyMigrations(DATABASE_URL, MIGRATIONS);
  // Without the keys, the first process that has them does it at its start.
  if (ENCRYPTION_KEYS) await grantExisting(DATABASE_URL, keyRing(ENCRYPTION_KEYS), keySource(config));
  if (tools_role !== undefined) await grantToToolsRole(DATABASE_URL, tools_role);
  process.stdout.write(fresh.length > 0 ? `Applied:\n${fresh.map((name) => `  ${name}\n`).join('')}` : 'Nothing to apply\n');
}

async function grantExisting(url: string, keys: KeyRing, source: string): Promise<void> {
  const database = openDatabase({ url });
  try {
    await requireKeys(database.pool, keys, source);
    await noteActiveKey(database.pool, keys);
    await createStore({ database, keys }).grants.grantExisting();
  } finally {
    await database.close();
  }
}
