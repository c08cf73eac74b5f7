import type { Resources } from '../../src/main/resources.ts';
import { type LimitedRole, limitedRole } from '../support/database/limited-role.ts';
import { databaseOn, mountSmallDisk, NO_DISK, type SmallDisk } from '../support/machine/small-disk.ts';
import { type DroppingProxy, startDroppingProxy, throughProxy } from '../support/peers/dropping-proxy.ts';
import { redisIsInstalled } from '../support/peers/redis.ts';
import type { Random } from './random.ts';
import type { ChaosServers } from './servers.ts';

/** What is between the installation and its servers, so that it can suffer more than their death. */
export interface Harm {
  /** The addresses of the servers as the installation sees them. */
  env: Record<string, string>;
  /** Faults that this machine does not allow, with the reason. */
  left_out: Map<string, string>;
  /** Silences open connections to one server: a single one, some or all of them. The result serves them again. */
  silence(random: Random): () => void;
  role: LimitedRole;
  disk: SmallDisk | null;
}

const NO_REDIS = redisIsInstalled() ? 'Postgres carries the events' : 'redis-server is not installed';
const DISK_SIZE = '2g';
const SHARES = [0.1, 0.5, 1];

/** A separate disk for the database, if this process may mount one. The caller starts the servers after it. */
export const chaosDisk = async (resources: Resources): Promise<SmallDisk | null> =>
  resources.hold(await mountSmallDisk(DISK_SIZE), (it) => it?.remove());

/** The database of the installation: on the disk if there is one. */
export const chaosDatabase = async (servers: ChaosServers, disk: SmallDisk | null): Promise<string> =>
  disk ? (await databaseOn(disk, servers.database_url)).url : servers.database_url;

/** `database_url`: the migrated database, as its superuser sees it. */
export async function prepareHarm(
  resources: Resources,
  { servers, database_url, disk }: { servers: ChaosServers; database_url: string; disk: SmallDisk | null },
): Promise<Harm> {
  const proxyTo = async (target: () => string) => resources.hold(await startDroppingProxy(target), (it) => it.stop());
  const role = await limitedRole(database_url);
  const { redis_url } = servers;
  const proxies: Record<string, DroppingProxy> = {
    postgres: await proxyTo(() => servers.database_url),
    temporal: await proxyTo(() => `http://${servers.temporal_address}`),
    ...(redis_url ? { redis: await proxyTo(() => redis_url) } : {}),
  };
  const { postgres, temporal, redis } = proxies;
  const left_out = new Map<string, string>();
  if (!disk) left_out.set('disk full', NO_DISK);
  if (!redis) for (const fault of ['redis', 'redis stalled', 'redis flushed']) left_out.set(fault, NO_REDIS);
  return {
    env: {
      DATABASE_URL: throughProxy(role.url, postgres!),
      TEMPORAL_ADDRESS: new URL(temporal!.url).host,
      ...(redis && redis_url ? { REDIS_URL: throughProxy(redis_url, redis) } : {}),
    },
    left_out,
    silence(random) {
      const share = random.pick(SHARES);
      return random.pick(Object.values(proxies)).silence({ which: () => random.chance(share) });
    },
    role,
    disk,
  };
}
