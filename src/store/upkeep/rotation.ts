import { type Database, row, rows } from '../database/database.ts';
import { scheduleStore } from '../resources/scheduled-agents.ts';
import { renewEvaluations } from '../runs/evaluations.ts';
import { callerContext } from '../runs/tasks.ts';
import { connectionStores } from '../secrets/connections.ts';
import { grantKeys } from '../secrets/grant-keys.ts';
import { forgetOtherKeys } from '../secrets/key-check.ts';
import type { KeyRing, Sealed } from '../secrets/key-ring.ts';
import { mcpSignInStore } from '../secrets/mcp-sign-ins.ts';
import type { ConfigSealer } from '../secrets/sealed-config.ts';
import { tokenStore } from '../secrets/tokens.ts';
import { webhookSecretStore } from '../secrets/webhook-secrets.ts';
import * as sql from './rotation.sql.ts';

/** The number of values of each kind that were sealed with another key. */
interface Rotated {
  tokens: number;
  schedules: number;
  evaluations: number;
  connections: number;
  mcp_sign_ins: number;
  definitions: number;
  runs: number;
  webhook_secrets: number;
  grant_keys: number;
}

/** Seals every sealed value again with the active key, so that the other keys can be removed. */
export async function rotateKeys({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>, keys: KeyRing): Promise<Rotated> {
  const fingerprints = grantKeys(pool, keys);
  const { mcpServers, knowledgeSources } = connectionStores(prisma, keys);
  const rotated = {
    tokens: await tokenStore({ pool, prisma, fingerprints }, keys).rotate(),
    schedules: await scheduleStore({ pool, prisma, keys }).rotate(),
    evaluations: await renewEvaluations(prisma, keys),
    connections: (await mcpServers.rotate()) + (await knowledgeSources.rotate()),
    mcp_sign_ins: await mcpSignInStore({ pool, prisma }, keys).rotate(),
    definitions: await renewDefinitions(pool, mcpServers.sealer),
    runs: await renewCallers(pool, keys),
    webhook_secrets: await webhookSecretStore({ pool, prisma }, keys).renew(),
    grant_keys: await fingerprints.rotate(),
  };
  await forgetOtherKeys(pool, keys);
  return rotated;
}

type Pool = Database['pool'];

/** Seals the secrets of pinned definitions again. A definition keeps its hash, which is its id: its secrets have not changed. */
async function renewDefinitions(pool: Pool, sealer: ConfigSealer): Promise<number> {
  let renewed_count = 0;
  for (const { hash, servers } of await rows<{ hash: string; servers: { connection_config: unknown }[] }>(
    pool,
    sql.sealedDefinitions(),
  )) {
    const configs = servers.map(({ connection_config }) => sealer.renew(connection_config));
    if (configs.every((config) => config === null)) continue;
    const body = servers.map((server, at) => ({ ...server, connection_config: configs[at] ?? server.connection_config }));
    await row(pool, sql.resealDefinition({ hash, servers: JSON.stringify(body) }));
    renewed_count += 1;
  }
  return renewed_count;
}

/**
 * Seals again the access tokens that runs in progress, and those that may begin with a message that waits, send to the default runtime. A
 * task that ends in the meantime drops its token.
 */
async function renewCallers(pool: Pool, keys: KeyRing): Promise<number> {
  const stale_callers = await rows<Sealed & { id: string }>(pool, sql.sealedCallers({ active_key_id: keys.active_key_id }));
  for (const { id, ...caller } of stale_callers) {
    const { sealed, key_id } = keys.seal(keys.open(caller, callerContext(id)), callerContext(id));
    await row(pool, sql.resealCaller({ task_id: id, sealed: Buffer.from(sealed), key_id }));
  }
  return stale_callers.length;
}
