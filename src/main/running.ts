import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';

/** The addresses of the installation that runs in the home folder. */
export async function loadRunningAddresses(config: Config): Promise<{ database_url: string; temporal_address: string }> {
  const file = config.PERDURA_READY_FILE ?? join(config.PERDURA_HOME, 'ready.json');
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error(`No installation runs in ${config.PERDURA_HOME}: start it, or set DATABASE_URL and TEMPORAL_ADDRESS`);
  });
  return JSON.parse(text);
}
