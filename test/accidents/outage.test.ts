import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { type ChaosServers, startChaosServers } from '../chaos/servers.ts';
import { rebuildTexts } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

const AWAY_MS = 6_000;

let home: string;
let servers: ChaosServers;
let here: TestInstallation;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-outage-'));
  servers = await startChaosServers(home);
  await applyMigrations(servers.database_url, MIGRATIONS);
  const { database_url, temporal_address } = servers;
  here = await startTestInstallation({ setting: { database_url, temporal_address } });
}, 120_000);
afterAll(async () => {
  await here.stop();
  await servers.stop();
  await rm(home, { recursive: true, force: true });
}, 60_000);

const TEXT = 'One two three four five six seven eight nine ten.';

/** Starts a run, and returns it with its stream once text has arrived. */
async function startRun() {
  const workflow_id = await here.workflow();
  here.model.script(says(TEXT, { pause_ms: 300 }), says(TEXT));
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
  return { workflow_id, task_id, stream };
}

async function refused(workflow_id: string, code: string) {
  const answer = await here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Now?' });
  expect([answer.status, answer.body.code]).toEqual([503, code]);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  const compatible = await here.alice.post('/v1/responses', { model: workflow_id, input: 'Now?', background: true });
  expect([compatible.status, compatible.body.error.code]).toEqual([503, code]);
  expect(Number(compatible.headers.get('retry-after'))).toBeGreaterThan(0);
}

describe('while the engine is down', () => {
  it('prompts are refused and leave nothing, reads are served, and runs continue afterwards', { timeout: 120_000 }, async () => {
    const other = await here.workflow();
    const hourly = { name: 'hourly', prompt: 'p', interval_value: 1, interval_unit: 'hours', workflow_id: other };
    const schedule = `/api/scheduled-agents/${(await here.alice.ok(here.alice.post('/api/scheduled-agents', hourly))).id}`;
    const { task_id, stream } = await startRun();
    await servers.away('temporal');
    await refused(other, 'engine_unavailable');
    expect(await here.alice.post(`${schedule}/trigger`)).toMatchObject({ status: 503, body: { code: 'engine_unavailable' } });
    expect(await here.alice.ok(here.alice.get(`${schedule}/runs`))).toMatchObject([{ outcome: 'failed', task_id: null }]);
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${other}`))).toMatchObject({ status: 'active', task_count: 0 });
    await wait(AWAY_MS);
    await servers.start('temporal');
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: TEXT });
    expect(rebuildTexts(await here.alice.events(stream))).toEqual({ texts: [TEXT], unfinished: '' });
  });
});

describe('while the database is down', () => {
  it('prompts are refused, text of the model is not lost, and runs continue afterwards', { timeout: 120_000 }, async () => {
    const other = await here.workflow();
    const { task_id, stream } = await startRun();
    await servers.away('postgres');
    await refused(other, 'database_unavailable');
    expect((await here.anonymous.get('/health/ready')).status).toBe(503);
    expect((await here.anonymous.get('/health/live')).status).toBe(200);
    await wait(AWAY_MS);
    const asked = here.model.requests.length;
    await servers.start('postgres');
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: TEXT });
    expect(here.model.requests.length).toBe(asked);
    const events = await here.alice.events(stream);
    expect(rebuildTexts(events)).toEqual({ texts: [TEXT], unfinished: '' });
    // The text continues where it stopped: readers do not get it again.
    expect(events.filter(({ data }) => data.event === 'attempt_reset')).toEqual([]);
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${other}`))).toMatchObject({ task_count: 0 });
  });
});
