import { connectionStores } from './connections.ts';
import { type Database, rows } from './database.ts';
import { grantKeys } from './grant-keys.ts';
import type { KeyRing, Sealed } from './key-ring.ts';
import { scheduleStore } from './scheduled-agents.ts';
import type { ConfigSealer } from './sealed-config.ts';
import { LIVE } from './statements/runs.ts';
import { callerContext } from './tasks.ts';
import { tokenStore } from './tokens.ts';
import { webhookSecretStore } from './webhook-secrets.ts';

/** How many of each were sealed with another key. */
interface Rotated {
  tokens: number;
  schedules: number;
  connections: number;
  definitions: number;
  runs: number;
  webhook_secrets: number;
  grant_keys: number;
}

/** Seals everything that is kept sealed anew with the active key, so that the other keys can be dropped. */
export async function rotateKeys({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>, keys: KeyRing): Promise<Rotated> {
  const fingerprints = grantKeys(pool, keys);
  const { mcpServers, knowledgeSources } = connectionStores(prisma, keys);
  return {
    tokens: await tokenStore({ pool, prisma, fingerprints }, keys).rotate(),
    schedules: await scheduleStore({ pool, prisma, keys }).rotate(),
    connections: (await mcpServers.rotate()) + (await knowledgeSources.rotate()),
    definitions: await renewDefinitions(pool, mcpServers.sealer),
    runs: await renewCallers(pool, keys),
    webhook_secrets: await webhookSecretStore({ pool, prisma }, keys).renew(),
    grant_keys: await fingerprints.rotate(),
  };
}

type Pool = Database['pool'];

const SEALED = {
  name: 'sealed_definitions',
  text: `SELECT hash, body -> 'mcp_servers' AS servers FROM definitions WHERE (body -> 'mcp_servers')::text LIKE '%{{sealed:%'`,
};

/** What tasks were pinned with keeps its hash, which is its name: the same secrets are in it. */
async function renewDefinitions(pool: Pool, sealer: ConfigSealer): Promise<number> {
  let renewed = 0;
  for (const { hash, servers } of await rows<{ hash: string; servers: { connection_config: unknown }[] }>(pool, SEALED, [])) {
    const configs = servers.map(({ connection_config }) => sealer.renew(connection_config));
    if (configs.every((config) => config === null)) continue;
    const body = servers.map((server, at) => ({ ...server, connection_config: configs[at] ?? server.connection_config }));
    await pool.query(`UPDATE definitions SET body = jsonb_set(body, '{mcp_servers}', $2::jsonb) WHERE hash = $1`, [
      hash,
      JSON.stringify(body),
    ]);
    renewed += 1;
  }
  return renewed;
}

const CALLERS = {
  name: 'sealed_callers',
  text: `SELECT id, caller_token AS sealed, caller_key_id AS key_id FROM tasks
    WHERE status IN (${LIVE}) AND caller_token IS NOT NULL AND caller_key_id <> $1`,
};

/** Access tokens that runs under way call the default runtime with; a task that ends meanwhile keeps none. */
async function renewCallers(pool: Pool, keys: KeyRing): Promise<number> {
  const stale = await rows<Sealed & { id: string }>(pool, CALLERS, [keys.active_key_id]);
  for (const { id, ...caller } of stale) {
    const { sealed, key_id } = keys.seal(keys.open(caller, callerContext(id)), callerContext(id));
    await pool.query('UPDATE tasks SET caller_token = $2, caller_key_id = $3 WHERE id = $1 AND caller_token IS NOT NULL', [
      id,
      Buffer.from(sealed),
      key_id,
    ]);
  }
  return stale.length;
}
