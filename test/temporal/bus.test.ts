import { spawn, spawnSync } from 'node:child_process';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { EventBus, Notice, PlacedChange } from '../../src/events/bus.ts';
import { postgresBus } from '../../src/events/postgres-bus.ts';
import { redisBus } from '../../src/events/redis-bus.ts';
import { buildClientConfig } from '../../src/store/database/database.ts';
import { type Child, childOf, freePort } from '../support/machine/processes.ts';
import { type DroppingProxy, startDroppingProxy, throughProxy } from '../support/peers/dropping-proxy.ts';

const WORKFLOW = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const log = () => {};

interface Opened {
  bus: EventBus;
  /** Announces events as their writers do. */
  announce(notice: Notice): Promise<void>;
  /** Publishes a change as its writers do. */
  publishChange(change: PlacedChange): void;
  /** Breaks every connection of the bus. */
  breakConnections(): Promise<void>;
  /** Between the bus and its server. */
  proxy: DroppingProxy;
  close(): Promise<void>;
}

async function overPostgres(): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: inject('postgres_url') });
  pool.on('error', log);
  const proxy = await startDroppingProxy(inject('postgres_url'));
  const bus = postgresBus({
    connection: buildClientConfig(throughProxy(inject('postgres_url'), proxy), 'perdura events'),
    pool,
    log,
  });
  const writer = postgresBus({ connection: buildClientConfig(inject('postgres_url'), 'perdura events'), pool, log });
  await writer.ping();
  return {
    bus,
    proxy,
    announce: async (notice) => writer.announce(WORKFLOW, notice),
    publishChange: writer.publishChange,
    async breakConnections() {
      await pool.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perdura events' AND datname = current_database()",
      );
    },
    async close() {
      await bus.close();
      await writer.close();
      await proxy.stop();
      await pool.end();
    },
  };
}

async function overRedis(): Promise<Opened> {
  const port = await freePort();
  const start = async (): Promise<Child> => {
    const server = childOf(
      spawn('redis-server', ['--port', String(port), '--save', '', '--bind', '127.0.0.1'], { stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    await server.prints(/Ready to accept connections/);
    return server;
  };
  let server = await start();
  const proxy = await startDroppingProxy(`redis://127.0.0.1:${port}`);
  const bus = redisBus({ url: throughProxy(`redis://127.0.0.1:${port}`, proxy), log });
  return {
    bus,
    proxy,
    announce: async (notice) => bus.announce(WORKFLOW, notice),
    publishChange: bus.publishChange,
    async breakConnections() {
      await server.end('SIGKILL');
      server = await start();
    },
    async close() {
      await bus.close();
      await proxy.stop();
      await server.end('SIGTERM');
    },
  };
}

const buses: [string, () => Promise<Opened>][] = [['Postgres', overPostgres]];
if (spawnSync('redis-server', ['--version']).status === 0) buses.push(['Redis', overRedis]);

describe.each(buses)('the bus over %s', (_name, open) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  /** Listens from the moment at which the bus does. */
  const listen = async () => {
    const heard: Notice[] = [];
    let received = 0;
    let missed = 0;
    const end = opened.bus.subscribe(WORKFLOW, (notice) => {
      if (notice.last === 0) received += 1;
      else if (notice.last === Number.POSITIVE_INFINITY) missed += 1;
      else heard.push(notice);
    });
    await expect.poll(async () => (await opened.announce({ last: 0 })) ?? received).toBeGreaterThan(0);
    return { heard, missed: () => missed, end };
  };

  it('carries events to every listener of a workflow, in order, until it ends', async () => {
    const [one, two] = [await listen(), await listen()];
    const event = { type: 'log' as const, data: { event: 'completed' as const, detail: '' }, timestamp: 'now' };
    await opened.announce({ last: 1, task_id: 't', events: [event] });
    await opened.announce({ last: 2 });
    const bytes = expect.any(Number);
    await expect
      .poll(() => one.heard)
      .toEqual([
        { last: 1, task_id: 't', events: [event], bytes },
        { last: 2, bytes },
      ]);
    expect(two.heard).toEqual(one.heard);
    two.end();
    await opened.announce({ last: 3 });
    await expect.poll(() => one.heard.length).toBe(3);
    expect(two.heard.length).toBe(2);
    one.end();
  });

  it('carries no event that is too large, and reports that there is one', async () => {
    const { heard, end } = await listen();
    const event = { type: 'log' as const, data: { event: 'completed' as const, detail: 'ä'.repeat(50_000) }, timestamp: 'now' };
    await opened.announce({ last: 3, task_id: 't', events: [event] });
    await opened.announce({ last: 5 });
    await expect
      .poll(() => heard.map(({ last, events }) => [last, events]))
      .toEqual([
        [3, undefined],
        [5, undefined],
      ]);
    end();
  });

  it('notifies listeners of possibly missed events after its connection breaks, and continues', async () => {
    const { heard, missed, end } = await listen();
    const before = missed();
    await opened.breakConnections();
    await expect.poll(missed, { timeout: 20_000 }).toBeGreaterThan(before);
    await expect.poll(async () => (await opened.announce({ last: 9 })) ?? heard.at(-1)?.last, { timeout: 20_000 }).toBe(9);
    end();
  }, 50_000);

  it('notices a connection that has fallen silent, and replaces it', async () => {
    const { heard, missed, end } = await listen();
    const before = missed();
    opened.proxy.silence();
    await expect.poll(missed, { timeout: 30_000 }).toBeGreaterThan(before);
    await expect.poll(async () => (await opened.announce({ last: 12 })) ?? heard.at(-1)?.last, { timeout: 20_000 }).toBe(12);
    end();
  }, 60_000);

  it('carries changes, and reports that some may have been missed after its connection breaks', async () => {
    const seen: (PlacedChange | null)[] = [];
    const end = opened.bus.onChange((change) => seen.push(change));
    const change = { kind: 'tasks', id: 'some-task', workflow_id: WORKFLOW };
    await expect.poll(() => opened.publishChange(change) ?? seen.at(-1)).toEqual(change);
    const countMissed = () => seen.filter((one) => one === null).length;
    const before = countMissed();
    await opened.breakConnections();
    await expect.poll(countMissed, { timeout: 20_000 }).toBeGreaterThan(before);
    const later = { kind: 'agents', id: 'some-agent', owner: null };
    await expect.poll(() => opened.publishChange(later) ?? seen.at(-1), { timeout: 20_000 }).toEqual(later);
    end();
  }, 50_000);

  it('asks workers to halt a task', async () => {
    const heard: string[] = [];
    const end = opened.bus.onHalt((task_id) => heard.push(task_id));
    await expect.poll(() => opened.bus.halt('some-task') ?? heard.at(-1)).toBe('some-task');
    end();
    await opened.bus.ping();
  });
});
