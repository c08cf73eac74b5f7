import { spawn, spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { type Child, childOf, freePort } from '../machine/processes.ts';

export const redisIsInstalled = (): boolean => spawnSync('redis-server', ['--version']).status === 0;

/** A Redis server that keeps nothing on disk, and can be killed and restarted at the same address. */
export interface RedisServer {
  url: string;
  pid(): number;
  signal(signal: NodeJS.Signals): void;
  flush(): Promise<void>;
  start(): Promise<void>;
  /** Kills the server with kill -9. */
  stop(): Promise<void>;
}

/** Creates a server. With `started: false`, nothing answers at its address yet. */
export async function redisServer({ started = true } = {}): Promise<RedisServer> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server: Child | undefined;
  async function start(): Promise<void> {
    const flags = ['--port', String(port), '--save', '', '--bind', '127.0.0.1'];
    const next = childOf(spawn('redis-server', flags, { stdio: ['ignore', 'pipe', 'pipe'] }));
    await next.prints(/Ready to accept connections/);
    server = next;
  }
  if (started) await start();
  return {
    url,
    start,
    pid: () => server?.pid ?? 0,
    signal: (signal) => server?.signal(signal),
    async flush() {
      const client = new Redis(url, { maxRetriesPerRequest: 0, commandTimeout: 1_000, retryStrategy: () => null });
      client.on('error', () => {});
      await client.flushall().catch(() => {});
      client.disconnect();
    },
    async stop() {
      const last = server;
      server = undefined;
      await last?.end('SIGKILL');
    },
  };
}
