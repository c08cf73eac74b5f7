import { randomBytes } from 'node:crypto';
import { localToken } from '../../src/embedded/local-identity.ts';
import { MIGRATIONS } from '../../src/main/places.ts';
import type { Resources } from '../../src/main/resources.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { baseEnv } from '../support/machine/processes.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { chaosDatabase, chaosDisk, type Harm, prepareHarm } from './harm.ts';
import { type ChaosServers, startChaosServers } from './servers.ts';
import { warmedCache } from './warm.ts';

export interface Installation {
  servers: ChaosServers;
  /** The database as its superuser sees it, past everything that can harm it. */
  database_url: string;
  harm: Harm;
  fleet: Fleet;
  /** The addresses of the API servers. */
  urls: string[];
  token: string;
  /** Environment variables that make a restart cheap. */
  cache: Record<string, string>;
}

export interface InstallationOptions {
  home: string;
  workers: number;
  apis: number;
  env?: Record<string, string>;
  /** Redis carries the events; otherwise Postgres does. */
  redis?: boolean;
  log(line: string): void;
}

/** Postgres, Temporal, API servers and workers, each in a separate process that can be killed. The caller stops the fleet. */
export async function startInstallation(
  resources: Resources,
  { home, workers, apis, env: more = {}, redis = false, log }: InstallationOptions,
): Promise<Installation> {
  const warming = warmedCache(home);
  const disk = await chaosDisk(resources);
  const servers = resources.hold(await startChaosServers(home, { redis }), (it) => it.stop());
  const database_url = await chaosDatabase(servers, disk);
  await applyMigrations(database_url, MIGRATIONS);
  const harm = await prepareHarm(resources, { servers, database_url, disk });
  const { token } = await localToken(home);
  const cache = await warming;
  const env = {
    ...baseEnv(),
    ...cache,
    ...harm.env,
    ENCRYPTION_KEYS: `chaos:${randomBytes(32).toString('base64')}`,
    PERDURA_HOME: home,
    IDENTITY_PROVIDERS: 'local',
    EGRESS_ALLOW: '127.0.0.1',
    TOOL_ISOLATION: 'none',
    ALLOW_STDIO_MCP: 'true',
    RECONCILE_SECONDS: '10',
    RATE_LIMIT_PER_MINUTE: '1000000',
    DATABASE_POOL_SIZE: '10',
    ...more,
  };
  const fleet = await startFleet(env, { workers, apis, log });
  return { servers, database_url, harm, fleet, urls: fleet.apis.map(({ url }) => url), token, cache };
}
