import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Notice } from '../../src/events/bus.ts';
import { redisBus } from '../../src/events/redis-bus.ts';
import { folderOfRun } from '../support/harness/run-mark.ts';
import { type Child, childOf, freePort } from '../support/machine/processes.ts';
import { redisIsInstalled } from '../support/peers/redis.ts';
import { until } from '../support/until.ts';

const WORKFLOW = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const log = () => {};

const folders: string[] = [];
const nodes: Child[] = [];
const ports: number[] = [];

async function startNode(): Promise<Redis> {
  const folder = await folderOfRun('perdura-cluster-');
  folders.push(folder);
  const port = await freePort();
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--cluster-enabled', 'yes'];
  const node = childOf(spawn('redis-server', flags, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] }));
  nodes.push(node);
  await node.prints(/Ready to accept connections/);
  ports.push(port);
  return new Redis(port, '127.0.0.1');
}

/** Two nodes of which the first has all keys. */
beforeAll(async () => {
  if (!redisIsInstalled()) return;
  const [first, second] = [await startNode(), await startNode()];
  await first.cluster('ADDSLOTSRANGE', 0, 16_383);
  await second.cluster('MEET', '127.0.0.1', ports[0]!);
  const refusal = () => second.get('key').catch((error: Error) => error.message);
  await until('the second node knows the first', async () => (await refusal()) === `MOVED 12539 127.0.0.1:${ports[0]}`);
  for (const client of [first, second]) client.disconnect();
});
afterAll(async () => {
  for (const node of nodes) await node.end('SIGKILL');
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

describe.skipIf(!redisIsInstalled())('the bus over one node of a Redis cluster', () => {
  it('carries events and halts to the other nodes, although the node has no keys', async () => {
    const [at, other] = ports.map((port) => redisBus({ url: `redis://127.0.0.1:${port}`, log }));
    const heard: Notice[] = [];
    const halts: string[] = [];
    at!.subscribe(WORKFLOW, (notice) => heard.push(notice));
    at!.onHalt((task_id) => halts.push(task_id));
    await expect.poll(() => other!.announce(WORKFLOW, { last: 7 }) ?? heard.at(-1)?.last).toBe(7);
    await expect.poll(() => other!.halt('some-task') ?? halts.at(-1)).toBe('some-task');
    for (const bus of [at!, other!]) {
      await bus.ping();
      await bus.close();
    }
  });
});
