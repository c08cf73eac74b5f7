import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { System } from '../../src/contracts/system.ts';
import { keepBeating } from '../../src/temporal/worker/beats.ts';
import type { Client } from '../support/client.ts';
import { metricsOf } from '../support/contract/metrics.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess, startWorkerProcess } from '../support/machine/processes.ts';
import { type DroppingProxy, startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { fails, hangs } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice', WORKER_MAX_ACTIVITIES: '13' } });
});
afterAll(() => here?.stop());

const systemOf = (client: Client) => client.ok(client.get('/api/system')) as unknown as Promise<System>;
const ownName = `${process.pid}@${hostname()}`;

describe('the state of the installation', () => {
  it('is for administrators', async () => {
    expect(await here.bob.get('/api/system')).toMatchObject({
      status: 403,
      body: { detail: 'Only administrators see the state of the installation' },
    });
    expect(await systemOf(here.alice)).toMatchObject({ version: here.setting.version });
  });

  it('has the checks of readiness, and the figures of metrics and database', { timeout: 60_000 }, async () => {
    const { checks, queues, storage, runs } = await systemOf(here.alice);
    const readiness = (await (await fetch(`${here.url}/health/ready`)).json()) as { checks: Record<string, object> };
    expect(Object.fromEntries(checks.map(({ name, ...check }) => [name, check]))).toEqual(readiness.checks);
    const { series } = await metricsOf(here.url);
    const { TEMPORAL_TASK_QUEUE: queue } = here.setting.config;
    expect(queues.items?.map(({ kind }) => kind)).toEqual(['workflow', 'activity']);
    expect(queues.items?.map(({ waiting, workers }) => [waiting, workers])).toEqual(
      ['workflow', 'activity'].map((kind) => [
        series.get(`perdura_queue_backlog{queue="${queue}",kind="${kind}"}`),
        series.get(`perdura_queue_pollers{queue="${queue}",kind="${kind}"}`),
      ]),
    );
    expect(runs).toEqual({ items: [], error: null });
    const [{ bytes }] = (await here.sql('SELECT pg_database_size(current_database())::float8 AS bytes')) as [{ bytes: number }];
    const [database, home] = storage;
    expect(database).toEqual({
      ...{ of: 'database', free_bytes: null, total_bytes: null, error: null },
      used_bytes: expect.closeTo(bytes, -6),
    });
    expect(home).toMatchObject({ of: 'home', error: null });
    expect(home!.used_bytes! + home!.free_bytes!).toBe(home!.total_bytes);
  });

  it('lists each worker with its load, and forgets one that has stopped', { timeout: 120_000 }, async () => {
    here.model.script(hangs('a'), hangs('b'), hangs('c'));
    const workflows = await Promise.all([here.workflow(), here.workflow(), here.workflow()]);
    const tasks = await Promise.all(workflows.map((id) => here.prompt(id)));
    const own = await until('three steps in its report', async () => {
      const { workers } = await systemOf(here.alice);
      return workers.items?.find(({ name, used }) => name === ownName && used === 3);
    });
    expect(own).toMatchObject({ slots: 13, roles: ['runs', 'models', 'tools'], build_id: null, silent: false });
    expect(own.version).toBe(here.setting.version);
    expect((await systemOf(here.alice)).runs.items).toEqual([{ status: 'running', runs: 3, oldest_seconds: expect.any(Number) }]);
    for (const id of tasks) await here.alice.ok(here.alice.post(`/api/tasks/${id}/stop`));
    for (const id of tasks) await here.ended(id);

    const worker = await startWorkerProcess(here.setting, {
      WORKER_ROLE: 'tools',
      TEMPORAL_ROLE_QUEUES: 'true',
      WORKER_MAX_ACTIVITIES: '7',
    });
    const others = async () => (await systemOf(here.alice)).workers.items!.filter(({ name }) => name !== ownName);
    const [other] = await until('its report', async () => ((await others()).length === 1 ? others() : null));
    expect(other).toMatchObject({ slots: 7, used: 0, roles: ['tools'], silent: false });
    expect(other!.name).toMatch(/^\d+@/);
    await here.sql(`UPDATE worker_beats SET seen_at = now() - interval '31 seconds' WHERE id = $1`, other!.id);
    expect(await others()).toMatchObject([{ silent: true }]);
    await worker.end('SIGTERM');
    expect(await others()).toEqual([]);
  });

  it('forgets a lost worker after an hour', async () => {
    const insert = `INSERT INTO worker_beats (id, name, version, roles, slots, used, seen_at)
      SELECT ('0197a0c4-0000-7000-8000-0000000000' || n)::uuid, 'lost ' || n, '0', '{}', 1, 0, now() - make_interval(mins => n) FROM unnest($1::int[]) n`;
    await here.sql(insert, [59, 61] as never);
    const [own] = (await systemOf(here.alice)).workers.items!;
    await here.core.store.workerBeats.beat(own!);
    const names = (await systemOf(here.alice)).workers.items!.map(({ name }) => name);
    expect(names).toEqual([ownName, 'lost 59']);
  });

  it('counts the failed runs of everybody by error, and says whose they are, not what they were about', {
    timeout: 60_000,
  }, async () => {
    const workflow_id = await here.workflow();
    const failed: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      here.model.script(fails(401));
      failed.push(await here.prompt(workflow_id, 'A prompt that nobody else reads.'));
      await here.ended(failed.at(-1)!);
    }
    const agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id;
    const { id } = await here.bob.ok(here.bob.post('/api/workflows', { agent_id, title: 'His' }), 201);
    here.model.script(fails(401));
    const { task_id } = await here.bob.ok(here.bob.post(`/api/workflows/${id}/prompt`, { prompt: 'Hello' }), 201);
    await until('his run', async () => (await here.bob.ok(here.bob.get(`/api/tasks/${task_id}`))).status === 'failed');
    await here.sql(`UPDATE tasks SET completed_at = now() - interval '25 hours' WHERE id = $1`, failed[0]!);

    const { failures } = await systemOf(here.alice);
    const [{ error_code, completed_at }] = (await here.sql(
      'SELECT error_code, completed_at FROM tasks WHERE id = $1',
      task_id,
    )) as [any];
    expect(failures).toEqual({
      error: null,
      items: [
        {
          ...{ error_code, runs: 3, last_at: completed_at.toISOString() },
          newest: [
            { task_id, login: 'bob', own: false, at: completed_at.toISOString() },
            { task_id: failed[2], login: 'alice', own: true, at: expect.any(String) },
            { task_id: failed[1], login: 'alice', own: true, at: expect.any(String) },
          ],
        },
      ],
    });
    expect(await here.alice.get(`/api/tasks/${task_id}`)).toMatchObject({ status: 403 });
  });
});

describe('with a part that does not answer', { timeout: 120_000 }, () => {
  const endings: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of endings.reverse()) await end();
  });

  async function behindProxies() {
    const hold = (proxy: DroppingProxy) => {
      endings.push(() => proxy.stop());
      return proxy;
    };
    const engine = hold(await startDroppingProxy(`http://${inject('temporal_address')}`));
    const database = hold(await startDroppingProxy(here.setting.database_url));
    const database_url = new URL(here.setting.database_url);
    database_url.host = new URL(database.url).host;
    const setting = { ...here.setting, temporal_address: new URL(engine.url).host, database_url: database_url.href };
    const { api, client } = await startApiProcess(setting, { ADMIN_SUBJECTS: 'local:local' });
    endings.push(() => api.end('SIGKILL'));
    return { engine, database, client };
  }

  it('names the reason of that part and answers with the others', async () => {
    const { engine, database, client } = await behindProxies();
    const whole = await systemOf(client);
    expect([whole.queues.error, whole.workers.error, whole.failures.error]).toEqual([null, null, null]);

    engine.silence({ fresh: true });
    const engineless = await systemOf(client);
    expect(engineless.queues).toEqual({ items: null, error: 'no answer in time' });
    expect(engineless.workers.items).toHaveLength(whole.workers.items!.length);
    expect(engineless.checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['engine', 'engine setup', 'workers']);
    engine.speak();

    database.silence({ fresh: true });
    const recordless = await until('an engine that answers', async () => {
      const state = await systemOf(client);
      return state.queues.items && state;
    });
    expect(recordless.workers).toEqual({ items: null, error: expect.stringMatching(/./) });
    expect([recordless.runs.items, recordless.failures.items]).toEqual([null, null]);
    expect(recordless.storage).toMatchObject([
      { of: 'database', used_bytes: null, error: expect.stringMatching(/./) },
      { of: 'home', error: null, free_bytes: expect.any(Number) },
    ]);
    database.speak();
  });
});

describe('the report of a worker', () => {
  it('continues after a failure, which is logged once, and ends with the worker', async () => {
    const did: string[] = [];
    const logged: string[] = [];
    const beating = keepBeating({
      async beat() {
        did.push('beat');
        if (did.length < 4) throw new Error('no such table');
      },
      async leave() {
        did.push('leave');
      },
      log: (line) => logged.push(line),
      every_ms: 1,
    });
    await until('five beats', async () => did.length >= 5);
    await beating.stop();
    expect(did.indexOf('leave')).toBe(did.length - 1);
    expect(logged).toEqual(['This worker cannot report its load: no such table']);
  });
});
