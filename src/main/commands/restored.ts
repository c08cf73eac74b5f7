import { exists } from '../../embedded/files.ts';
import { lockInstallation } from '../../embedded/installation-lock.ts';
import { openDatabase } from '../../store/database/database.ts';
import { requireOwnSchema } from '../../store/database/migrations.ts';
import { noteRestore } from '../../store/runs/epoch.ts';
import { describeRestore } from '../../temporal/repair/epoch.ts';
import type { Config } from '../config.ts';
import { requestRestore } from '../home-mark.ts';
import { MIGRATIONS } from '../places.ts';
import { parseCommand } from '../remote/options.ts';
import { loadRunningAddresses } from '../running.ts';
import { say, sayJson } from '../terminal.ts';

/**
 * `perdura restored`: records that the installation was restored. Needed if record, engine and home are from the same moment,
 * as in a snapshot of a disk.
 */
export default async function runRestored(config: Config, args: string[] = []): Promise<void> {
  const json = parseCommand('restored', args).has('json');
  if (!config.DATABASE_URL && (await isStopped(config.PERDURA_HOME))) {
    await requestRestore(config.PERDURA_HOME);
    if (json) sayJson({ noted_in: config.PERDURA_HOME, restore: null });
    else say(`Noted in ${config.PERDURA_HOME}: a new epoch begins with the next start`);
    return;
  }
  const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? (await loadRunningAddresses(config)).database_url;
  const database = openDatabase({ url });
  try {
    await requireOwnSchema(database.pool, MIGRATIONS);
    // Without a condition, a new epoch always begins.
    const restore = (await noteRestore(database.pool))!;
    if (json) sayJson({ noted_in: null, restore });
    else say(`Restored: ${describeRestore(restore)}`);
  } finally {
    await database.close();
  }
}

async function isStopped(home: string): Promise<boolean> {
  if (!(await exists(home))) throw new Error(`There is no home ${home}: set PERDURA_HOME, or DATABASE_URL`);
  const lock = await lockInstallation(home).catch(() => null);
  await lock?.release();
  return lock !== null;
}
