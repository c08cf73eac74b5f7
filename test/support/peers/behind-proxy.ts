import { inject } from 'vitest';
import { testDatabase } from '../database/database.ts';
import { startTestInstallation, type TestInstallation } from '../installation.ts';
import { type DroppingProxy, startDroppingProxy, throughProxy } from './dropping-proxy.ts';

/** Starts an installation that reaches its database through a proxy. `endings` collects the functions that end it. */
export async function installationBehindProxy(
  endings: (() => Promise<unknown>)[],
): Promise<{ here: TestInstallation; proxy: DroppingProxy }> {
  const database = await testDatabase();
  endings.push(() => database.drop());
  const proxy = await startDroppingProxy(inject('postgres_url'));
  endings.push(() => proxy.stop());
  const here = await startTestInstallation({ setting: { database_url: throughProxy(database.url, proxy) } });
  endings.push(() => here.stop());
  endings.push(async () => proxy.speak());
  return { here, proxy };
}
