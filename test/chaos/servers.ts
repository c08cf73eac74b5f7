import { setTimeout as wait } from 'node:timers/promises';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { startTemporal } from '../../src/embedded/temporal.ts';
import { refuseDeadlocks } from '../support/harness/deadlocks.ts';
import { temporalForTests } from '../support/harness/embedded-temporal.ts';
import { redisIsInstalled, redisServer } from '../support/peers/redis.ts';
import { until } from '../support/until.ts';
import { livingProcesses, signalled, treeOf } from './processes.ts';

export type Server = 'postgres' | 'temporal' | 'redis';

/**
 * Postgres, Temporal and perhaps Redis, which can be killed and restarted with the same data. The addresses are those of now: if
 * another program has taken a port meanwhile, a server gets the next one.
 */
export interface ChaosServers {
  database_url: string;
  temporal_address: string;
  /** Null without `redis`, and where redis-server is not installed. */
  redis_url: string | null;
  flushRedis(): Promise<void>;
  /** kill -9; false if it was not running. */
  kill(which: Server): boolean;
  /** The same; resolves when its descendants, which may serve for another moment, have ended as well. */
  away(which: Server): Promise<void>;
  /** Pauses all its processes for a while, to simulate a disk that does not respond. */
  stall(which: Server, ms: number): Promise<void>;
  start(which: Server): Promise<void>;
  stop(): Promise<void>;
}

const log = () => {};

export async function startChaosServers(home: string, { redis: wanted = false } = {}): Promise<ChaosServers> {
  const executable = await temporalForTests();
  const start = {
    postgres: () => startPostgres({ home, log, port: 26_432 }),
    temporal: () => startTemporal({ executable, home, log, port: 27_933, ui_port: 28_933 }),
  };
  const [postgres, temporal, redis] = await Promise.all([
    start.postgres(),
    start.temporal(),
    wanted && redisIsInstalled() ? redisServer() : null,
  ]);
  const running = { postgres, temporal };
  const pidOf = (which: Server) => (which === 'redis' ? (redis?.pid() ?? 0) : running[which].pid);
  const kill = (which: Server) => pidOf(which) > 0 && signalled(pidOf(which), 'SIGKILL');
  return {
    get database_url() {
      return running.postgres.url;
    },
    get temporal_address() {
      return running.temporal.address;
    },
    redis_url: redis?.url ?? null,
    flushRedis: async () => redis?.flush(),
    kill,
    async away(which) {
      const pids = await treeOf(pidOf(which));
      kill(which);
      await until(`${which} is gone`, async () => (await livingProcesses()).every(({ pid }) => !pids.includes(pid)));
    },
    async stall(which, ms) {
      const pids = await treeOf(pidOf(which));
      for (const pid of pids) signalled(pid, 'SIGSTOP');
      await wait(ms);
      for (const pid of pids) signalled(pid, 'SIGCONT');
    },
    async start(which) {
      if (which === 'redis') {
        await redis?.stop();
        await redis?.start();
      } else if (which === 'postgres') running.postgres = await start.postgres();
      else {
        // The server process is dead, but the guard of its UI runs in this process.
        await running.temporal.stop();
        running.temporal = await start.temporal();
      }
    },
    async stop() {
      await Promise.all([running.postgres.stop(), running.temporal.stop(), redis?.stop()]);
      await refuseDeadlocks(running.postgres.log_file);
    },
  };
}
