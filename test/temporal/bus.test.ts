import { spawn, spawnSync } from 'node:child_process';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { EventBus, Notice } from '../../src/events/bus.ts';
import { postgresBus } from '../../src/events/postgres-bus.ts';
import { redisBus } from '../../src/events/redis-bus.ts';
import { type Child, childOf, freePort } from '../support/processes.ts';

const WORKFLOW = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const log = () => {};

interface Opened {
  bus: EventBus;
  /** Announces events as their writers do. */
  announce(notice: Notice): Promise<void>;
  /** Breaks every connection of the bus. */
  breakConnections(): Promise<void>;
  close(): Promise<void>;
}

async function overPostgres(): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: inject('postgres_url') });
  pool.on('error', log);
  const bus = await postgresBus({ url: inject('postgres_url'), pool, log });
  return {
    bus,
    async announce(notice) {
      await pool.query('SELECT pg_notify($1, $2)', [`workflow:events:${WORKFLOW}`, JSON.stringify(notice)]);
    },
    async breakConnections() {
      await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perdura events'");
    },
    async close() {
      await bus.close();
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
  const bus = await redisBus({ url: `redis://127.0.0.1:${port}`, log });
  return {
    bus,
    announce: async (notice) => bus.announce(WORKFLOW, notice),
    async breakConnections() {
      await server.end('SIGKILL');
      server = await start();
    },
    async close() {
      await bus.close();
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

  const listen = async () => {
    const heard: Notice[] = [];
    const end = await opened.bus.subscribe(WORKFLOW, (notice) => heard.push(notice));
    return { heard, end };
  };

  it('carries events to every listener of a workflow, in order, until it ends', async () => {
    const [one, two] = [await listen(), await listen()];
    const event = { type: 'log' as const, data: { event: 'x', detail: '' }, timestamp: 'now' };
    await opened.announce({ last: 1, task_id: 't', events: [event] });
    await opened.announce({ last: 2 });
    await expect.poll(() => one.heard).toEqual([{ last: 1, task_id: 't', events: [event] }, { last: 2 }]);
    expect(two.heard).toEqual(one.heard);
    two.end();
    await opened.announce({ last: 3 });
    await expect.poll(() => one.heard.length).toBe(3);
    expect(two.heard.length).toBe(2);
    one.end();
  });

  it('notifies listeners of possibly missed events after its connection breaks, and continues', async () => {
    const { heard, end } = await listen();
    await opened.breakConnections();
    await expect.poll(() => heard.at(-1)?.last).toBe(Number.POSITIVE_INFINITY);
    await opened.announce({ last: 9 });
    await expect.poll(() => heard.at(-1)?.last).toBe(9);
    end();
  }, 30_000);

  it('asks workers to halt a task', async () => {
    const heard: string[] = [];
    const end = await opened.bus.onHalt((task_id) => heard.push(task_id));
    await opened.bus.halt('some-task');
    await expect.poll(() => heard).toEqual(['some-task']);
    end();
    await opened.bus.ping();
  });
});
