import { Client } from '@temporalio/client';
import { textWithReason } from '../../domain/reason.ts';
import { openDatabase } from '../../store/database/database.ts';
import { applyMigrations } from '../../store/database/migrations.ts';
import { createStore } from '../../store/index.ts';
import { noteActiveKey, requireKeys } from '../../store/secrets/key-check.ts';
import { type KeyRing, keyRing } from '../../store/secrets/key-ring.ts';
import { grantToToolsRole } from '../../store/upkeep/tools-role.ts';
import { prepareNamespace } from '../../temporal/worker/housekeeping.ts';
import type { Config } from '../config.ts';
import { logFailure, report } from '../log.ts';
import { MIGRATIONS } from '../places.ts';
import { parseCommand } from '../remote/options.ts';
import { createResources } from '../resources.ts';
import { describeKeySource } from '../setting.ts';
import { sayJson } from '../terminal.ts';
import { openClientConnection } from '../wiring/client-connection.ts';

/** `perdura migrate [--tools-role NAME]`: migrates the database and prepares the engine. */
export default async function runMigrate(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('migrate', args);
  const tools_role = given.text('tools-role');
  const json = given.has('json');
  const { ENCRYPTION_KEYS } = config;
  const DATABASE_URL = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL;
  if (!DATABASE_URL) throw new Error('Set DATABASE_URL; an embedded installation migrates by itself when it starts');
  const new_migrations = await applyMigrations(DATABASE_URL, MIGRATIONS);
  // If the keys are missing here, the first process that has them does this at its start.
  if (ENCRYPTION_KEYS) await grantExisting(DATABASE_URL, keyRing(ENCRYPTION_KEYS), describeKeySource(config));
  if (tools_role !== undefined) await grantToToolsRole(DATABASE_URL, tools_role);
  if (!json) report(new_migrations.length > 0 ? `Applied: ${new_migrations.join(', ')}` : 'Nothing to apply');
  const new_parts = config.TEMPORAL_ADDRESS ? await prepareTemporal(config, config.TEMPORAL_ADDRESS) : null;
  if (json) sayJson({ applied: new_migrations, temporal: new_parts });
  else if (new_parts) report(new_parts.length > 0 ? `Registered in Temporal: ${new_parts.join(', ')}` : 'Temporal is prepared');
}

const TEMPORAL_MS = 60_000;

/**
 * Prepares the namespace and its search attributes, and returns those that are new. A failure is only reported, and null returned:
 * workers try it as well, and some accounts may not do it.
 */
async function prepareTemporal(config: Config, temporal_address: string): Promise<string[] | null> {
  const resources = createResources(() => {});
  try {
    const connection = openClientConnection({ temporal_address }, resources);
    const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
    const retention_days = config.ENGINE_RETENTION_DAYS;
    return await connection.withDeadline(Date.now() + TEMPORAL_MS, () => prepareNamespace({ client, retention_days }));
  } catch (error) {
    logFailure(
      `Temporal at ${temporal_address} is not prepared: ${textWithReason(error as Error)}. A worker tries it at its start; ` +
        'if its account may not, register the search attributes yourself (docs/operations.md)',
    );
    return null;
  } finally {
    await resources.close();
  }
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
