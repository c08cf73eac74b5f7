import { spawn, spawnSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { findFreePort } from '../src/embedded/ports.ts';
import { redisBus } from '../src/events/redis-bus.ts';
import { usesOf } from './usage.ts';

const CHANNELS = 1_000;
const ROUNDS = 100;
const SETTLED_MS = 1_500;

/**
 * Measures Redis' CPU time, in ms, for a text that one process publishes and another one receives; null if there is no
 * redis-server.
 */
export async function redisCost(): Promise<number | null> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return null;
  const port = await findFreePort();
  const server = spawn('redis-server', ['--port', String(port), '--save', '', '--bind', '127.0.0.1'], { stdio: 'ignore' });
  const options = { url: `redis://127.0.0.1:${port}`, log: () => {} };
  await wait(SETTLED_MS);
  const [worker, api] = [redisBus(options), redisBus(options)];
  try {
    await wait(SETTLED_MS);
    const ids = Array.from({ length: CHANNELS }, (_, at) => `workflow-${at}`);
    let received = 0;
    for (const id of ids)
      api.subscribe(id, () => {
        received += 1;
      });
    await wait(SETTLED_MS);
    received = 0;
    const spent = async () => (await usesOf({ redis: server.pid! })).redis!.cpu_ms;
    const before = await spent();
    for (let last = 1; last <= ROUNDS; last += 1) {
      const event = {
        type: 'message_delta' as const,
        data: { delta: 'token token token ' },
        timestamp: new Date().toISOString(),
      };
      for (const id of ids) worker.announce(id, { last, task_id: id, events: [event] });
      await wait(100);
    }
    await wait(SETTLED_MS);
    return ((await spent()) - before) / received;
  } finally {
    await Promise.all([worker.close(), api.close()]);
    server.kill();
  }
}
