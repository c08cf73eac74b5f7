import { randomBytes } from 'node:crypto';
import { msToTs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { freePort, perdura, startWorkerProcess } from '../support/machine/processes.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

type Verdicts = Record<string, string>;

/** What `perdura doctor` says of the installation, by check, and its exit code. */
async function doctor(env: Record<string, string> = {}) {
  const { config, database_url, temporal_address, encryption_keys } = here.setting;
  const child = perdura('doctor', {
    DATABASE_URL: database_url,
    TEMPORAL_ADDRESS: temporal_address,
    TEMPORAL_TASK_QUEUE: config.TEMPORAL_TASK_QUEUE,
    ENCRYPTION_KEYS: encryption_keys,
    PERDURA_HOME: config.PERDURA_HOME,
    IDENTITY_PROVIDERS: 'local',
    ...env,
  });
  const [code] = (await child.ended) as [number];
  const lines = child.output().matchAll(/^(ok|FAILED) +([^:]+): (.*)$/gm);
  return {
    code,
    said: Object.fromEntries([...lines].map(([, verdict, name, detail]) => [name, `${verdict}: ${detail}`])) as Verdicts,
  };
}

it('misses workers, and is content when there is one', { timeout: 90_000 }, async () => {
  const alone = await doctor();
  expect(alone.code).toBe(1);
  expect(alone.said.workers).toMatch(/^FAILED: None takes work from test-/);
  expect(alone.said).toMatchObject({ database: expect.stringMatching(/^ok/), engine: expect.stringMatching(/^ok/) });
  const worker = await startWorkerProcess(here.setting);
  const healthy = await doctor().finally(() => worker.end('SIGTERM'));
  expect(Object.values(healthy.said).filter((verdict) => !verdict.startsWith('ok'))).toEqual([]);
  expect(healthy.code).toBe(0);
});

it('checks the engine if the database is down, and the database if the engine is down', { timeout: 60_000 }, async () => {
  const nowhere = `127.0.0.1:${await freePort()}`;
  const { code, said } = await doctor({ DATABASE_URL: `postgres://perdura:x@${nowhere}/perdura` });
  expect(code).toBe(1);
  expect(said).toMatchObject({ database: expect.stringMatching(/^FAILED: ./), engine: expect.stringMatching(/^ok/) });
  const other = await doctor({ TEMPORAL_ADDRESS: nowhere });
  expect(other.code).toBe(1);
  expect(other.said).toMatchObject({ database: expect.stringMatching(/^ok/), engine: expect.stringMatching(/^FAILED: ./) });
});

it('names a wrong encryption key, not the database', { timeout: 60_000 }, async () => {
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'SEALED', value: 'a value that a key opens' }), 201);
  const { code, said } = await doctor({ ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}` });
  expect(code).toBe(1);
  expect(said.start).toMatch(/^FAILED: The key "test" is not the one/);
  expect(said).toMatchObject({ database: 'ok: answers', engine: expect.stringMatching(/^ok/) });
});

it('reports how large the installation is, and how fast it grows once it was measured twice', { timeout: 90_000 }, async () => {
  const { store } = here.core;
  await here.core.database.pool.query(`DELETE FROM installation_facts WHERE name = 'size_samples'`);
  const sample = { engine: null, home: 3_000_000, disk_free: 9e15, database: 1 };
  await store.sizes.note({ ...sample, at: new Date(Date.now() - 2 * 86_400_000).toISOString() });
  const { said } = await doctor();
  expect(said['size of the database']).toMatch(/^ok: [\d.]+ MB, [\d.]+ MB more a day; largest: \w+ [\d.]+ [kM]B, /);
  expect(said['size of the engine']).toBe('ok: unknown, because it is not the embedded one');
  expect(said['size of the home']).toMatch(/^ok: [\d.]+ [kMG]B in \/.*, .* a day$/);
  expect(said.disk).toMatch(/^ok: .* free, .* less a day, full in about a day at this rate$/);
  for (let noted = 0; noted < 170; noted += 1) await store.sizes.note({ ...sample, at: new Date().toISOString() });
  expect(await store.sizes.samples()).toHaveLength(168);
});

it('fails while ages are counted up to a time long ago, because the clock may be wrong', { timeout: 90_000 }, async () => {
  const { database, store } = here.core;
  await store.retention.advanceAgingClock();
  const aging = async (days: number) => {
    await database.pool.query(
      `UPDATE installation_facts SET value = (now() - make_interval(days => $1))::text WHERE name = 'aging_clock'`,
      [days],
    );
    return (await doctor({ RETENTION_DAYS: '30' })).said['age of records'];
  };
  expect(await aging(1)).toMatch(/^ok: counted up to /);
  expect(await aging(400)).toMatch(/^FAILED: counted up to .*, 400 days before the time of the database/);
});

it('does not know how fast an installation grows that was measured once', { timeout: 90_000 }, async () => {
  await here.core.database.pool.query(`DELETE FROM installation_facts WHERE name = 'size_samples'`);
  const { said } = await doctor();
  const sizes = ['size of the database', 'size of the home', 'disk'].map((name) => said[name]);
  for (const verdict of sizes) expect(verdict).toContain('growth unknown yet');
});

it('names the search attributes that a namespace lacks, until a worker has registered them', { timeout: 120_000 }, async () => {
  const namespace = `foreign-${randomBytes(4).toString('hex')}`;
  const { workflowService } = here.driver.client;
  await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') });
  const foreign = { TEMPORAL_NAMESPACE: namespace };
  const bare = await until('the namespace is known', async () => {
    const found = await doctor(foreign);
    return /^FAILED: Not registered/.test(found.said['search attributes'] ?? '') && found;
  });
  expect(bare.said['search attributes']).toContain('PerduraOwner');
  const worker = await startWorkerProcess(here.setting, foreign);
  await until('all is well', async () => (await doctor(foreign)).code === 0);
  await worker.end('SIGTERM');
});
