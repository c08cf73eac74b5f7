import { spawn, spawnSync } from 'node:child_process';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { rebuilt } from '../support/client.ts';
import { testDatabase } from '../support/database.ts';
import { type DroppingProxy, startDroppingProxy, throughProxy } from '../support/dropping-proxy.ts';
import { type InstallationOptions, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/model-server.ts';
import { type Child, childOf, freePort } from '../support/processes.ts';
import { until } from '../support/until.ts';

const TEXT = 'One two three four five six seven eight nine ten.';
/** Longer than any limit on the time that a peer is waited for, several of them in a row included. */
const PATIENCE_MS = 60_000;

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const started = async (options: InstallationOptions) => {
  const here = await startTestInstallation(options);
  endings.push(() => here.stop());
  return here;
};

/** An installation that reaches its database by way of a proxy. */
async function behindProxy(): Promise<{ here: TestInstallation; proxy: DroppingProxy }> {
  const database = await testDatabase();
  endings.push(() => database.drop());
  const proxy = await startDroppingProxy(inject('postgres_url'));
  endings.push(() => proxy.stop());
  const here = await started({ setting: { database_url: throughProxy(database.url, proxy) } });
  endings.push(async () => proxy.speak());
  return { here, proxy };
}

/** A run whose model is slow, and five who watch it from its first text on. */
async function watched(here: TestInstallation) {
  const workflow_id = await here.workflow();
  here.model.always(says(TEXT));
  here.model.script(says(TEXT, { pause_ms: 500 }));
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  const reading = Array.from({ length: 5 }, () => here.alice.events(stream, { timeout_ms: PATIENCE_MS }));
  for (const one of reading) one.catch(() => {});
  await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
  return { workflow_id, task_id, reading };
}

const texts = async (reading: Promise<Parameters<typeof rebuilt>[0]>[]) =>
  (await Promise.all(reading)).map((events) => rebuilt(events));
const WHOLE = Array.from({ length: 5 }, () => ({ texts: [TEXT], unfinished: '' }));

describe('while the database is silent', () => {
  it('on the connection that events come by, for good, every stream ends with the whole text', { timeout: 120_000 }, async () => {
    const { here, proxy } = await behindProxy();
    const { reading, task_id } = await watched(here);
    proxy.silence({ saying: 'perdura events', fresh: true });
    expect(await texts(reading)).toEqual(WHOLE);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: TEXT });
    // A halt does not need the bus either.
    here.model.script(hangs('Half'));
    const halted = await here.prompt(await here.workflow());
    expect((await here.alice.post(`/api/tasks/${halted}/stop`)).status).toBe(202);
    expect(await here.ended(halted, PATIENCE_MS)).toMatchObject({ status: 'halted' });
  });

  it('on all connections, requests are refused; then runs continue, and every stream ends complete', {
    timeout: 180_000,
  }, async () => {
    const { here, proxy } = await behindProxy();
    const { workflow_id, reading, task_id } = await watched(here);
    proxy.silence({ fresh: true });
    const answer = await here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Now?' });
    expect([answer.status, answer.body.code]).toEqual([503, 'database_unavailable']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await here.anonymous.get('/health/ready')).status).toBe(503);
    expect((await here.alice.get('/api/agents')).status).toBe(503);
    proxy.speak();
    expect(await here.ended(task_id, PATIENCE_MS)).toMatchObject({ status: 'completed', response: TEXT });
    expect(await texts(reading)).toEqual(WHOLE);
  });

  it('on the connections that are open, they are replaced, and every stream ends with the whole text', {
    timeout: 120_000,
  }, async () => {
    const { here, proxy } = await behindProxy();
    const { reading, task_id } = await watched(here);
    proxy.silence();
    expect(await texts(reading)).toEqual(WHOLE);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: TEXT });
    await until('it is ready', async () => (await here.anonymous.get('/health/ready')).status === 200);
  });
});

describe.runIf(spawnSync('redis-server', ['--version']).status === 0)('while Redis', () => {
  async function startRedis(port: number): Promise<Child> {
    const flags = ['--port', String(port), '--save', '', '--bind', '127.0.0.1'];
    const server = childOf(spawn('redis-server', flags, { stdio: ['ignore', 'pipe', 'pipe'] }));
    endings.push(() => server.end('SIGKILL'));
    await server.prints(/Ready to accept connections/);
    return server;
  }

  /** Runs, streams and halts as ever. */
  async function serves(here: TestInstallation) {
    const { reading, task_id } = await watched(here);
    expect(await texts(reading)).toEqual(WHOLE);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    const workflow_id = await here.workflow();
    here.model.script(hangs('Half'), says('Next.'));
    const halted = await here.prompt(workflow_id);
    const next = await here.prompt(workflow_id);
    await until('it runs', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${halted}`))).status === 'running');
    expect((await here.alice.post(`/api/tasks/${halted}/stop`)).status).toBe(202);
    expect(await here.ended(halted, PATIENCE_MS)).toMatchObject({ status: 'halted' });
    expect(await here.ended(next, PATIENCE_MS)).toMatchObject({ status: 'completed', response: 'Next.' });
  }
  const busIsReady = (here: TestInstallation) =>
    until('the bus is ready', async () => (await here.anonymous.get('/health/ready')).body.checks.bus.ok);

  it('is not there at the start, or is stopped, everything works; it is used once it is there', {
    timeout: 180_000,
  }, async () => {
    const port = await freePort();
    const here = await started({ env: { REDIS_URL: `redis://127.0.0.1:${port}` } });
    const { body } = await here.anonymous.get('/health/ready');
    expect(body.checks.bus.ok).toBe(false);
    await serves(here);
    const redis = await startRedis(port);
    await busIsReady(here);
    await redis.end('SIGKILL');
    await serves(here);
  });

  it('is silent, everything works; it is used again once it answers', { timeout: 180_000 }, async () => {
    const port = await freePort();
    await startRedis(port);
    const proxy = await startDroppingProxy(`redis://127.0.0.1:${port}`);
    endings.push(() => proxy.stop());
    const here = await started({ env: { REDIS_URL: throughProxy(`redis://127.0.0.1:${port}`, proxy) } });
    await busIsReady(here);
    proxy.silence({ fresh: true });
    await serves(here);
    proxy.speak();
    await busIsReady(here);
    await serves(here);
  });
});

describe('a stream that is resumed at an event number that does not exist yet', () => {
  it('ends if the task has ended, and otherwise continues from the newest event', { timeout: 90_000 }, async () => {
    const here = await started({});
    const { workflow_id, reading, task_id } = await watched(here);
    const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
    const headers = { 'last-event-id': '1000000' };
    const rest = await here.alice.events(stream, { headers, timeout_ms: PATIENCE_MS });
    expect(rest.at(-1)).toMatchObject({ type: 'status', data: { status: 'completed', task_id } });
    const last = (await Promise.all(reading))[0]!.at(-1)!.id;
    expect(rest.at(-1)!.id).toBe(last);
    for (const id of [last, last + 1, 1_000_000])
      expect(await here.alice.events(stream, { headers: { 'last-event-id': String(id) } })).toEqual([]);
  });
});
