import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OUTCOME_UNKNOWN } from '../../src/domain/transcript.ts';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { rebuildTexts } from '../support/client.ts';
import { type PostgresPair, startPostgresPair } from '../support/database/postgres-pair.ts';
import { folderOfRun } from '../support/harness/run-mark.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openShop, paidIn } from '../support/runs/paying.ts';
import { until } from '../support/until.ts';

/** The installation and its worker live on while the database under them becomes an older one. */
let here: TestInstallation;
let servers: PostgresPair;
let home: string;
let folder: string;
const lines: string[] = [];
beforeEach(async () => {
  home = await folderOfRun('perdura-failover-');
  folder = await mkdtemp(join(tmpdir(), 'perdura-failover-paid-'));
  servers = await startPostgresPair(home);
  await applyMigrations(servers.url, MIGRATIONS);
  lines.length = 0;
  here = await startTestInstallation({
    setting: { database_url: servers.url },
    env: { TOOL_ISOLATION: 'none', RECONCILE_SECONDS: '5', PERDURA_HOME: join(folder, 'home') },
    log: (line) => lines.push(line),
  });
}, 180_000);
afterEach(async () => {
  await here?.stop();
  await servers?.stop();
  for (const path of [home, folder]) await rm(path, { recursive: true, force: true });
}, 60_000);

const LIMIT = { timeout: 240_000 };
const NOTICED_MS = 90_000;

const task = (id: string) => here.alice.ok(here.alice.get(`/api/tasks/${id}?include=logs,messages`));
const approve = (id: string, call_id: string) =>
  here.alice.post(`/api/tasks/${id}/approvals/${call_id}`, { decision: 'approve' });
const decide = (id: string, decision: 'resume' | 'fail') =>
  here.alice.ok(here.alice.post(`/api/tasks/${id}/continuity`, { decision }));
const behind = (id: string) =>
  until(
    'its record is behind',
    async () => (await here.alice.get(`/api/tasks/${id}`)).body.record_behind as string | null,
    NOTICED_MS,
  );
const parkedFor = (id: string, call_id: string) =>
  until(`the run waits for ${call_id}`, async () =>
    (await here.driver.engine.waits(id))?.some((wait) => wait.for === 'call' && wait.call_id === call_id),
  );
const epoch = async () => (await here.core.store.epoch.read()).epoch;
const epochBegins = (number: number) =>
  until(`epoch ${number} begins`, async () => (await epoch().catch(() => 0)) === number, NOTICED_MS);

/** A workflow whose payments have to be approved. */
async function guarded() {
  const shop = await openShop(here, folder);
  await here.alice.ok(here.alice.put(`/api/agents/${shop.agent_id}`, { approval_tools: [shop.name] }));
  return shop;
}

describe('a database that is restored while a run', () => {
  it('waits for approval: the run says what is missing, resumes, and pays nothing twice', LIMIT, async () => {
    const shop = await guarded();
    here.model.script(shop.pay('a'), shop.pay('b'));
    const task_id = await here.prompt(shop.workflow_id);
    await parkedFor(task_id, '1-1');
    const saved = await servers.backup();
    await approve(task_id, '1-1');
    await parkedFor(task_id, '2-1');
    await here.driver.epoch.beat(0);
    await saved.restore();
    await epochBegins(2);
    expect(await behind(task_id)).toBe('the call 2-1');

    here.model.script(shop.pay('b'), says('It is done.'));
    await decide(task_id, 'resume');
    const waitsFor = (call_id: string, status: string) =>
      until(
        `${call_id} is ${status}`,
        async () => (await here.core.store.ledger.open(task_id, call_id))?.status === status,
        NOTICED_MS,
      );
    await waitsFor('1-1', 'waiting_approval');
    await parkedFor(task_id, '1-1');
    await approve(task_id, '1-1');
    await waitsFor('1-1', 'waiting_reconciliation');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, { decision: 'done', result: 'paid a' }));
    await waitsFor('2-1', 'waiting_approval');
    await approve(task_id, '2-1');
    await waitsFor('2-1', 'waiting_reconciliation');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/2-1`, { decision: 'retry' }));
    expect(await here.ended(task_id, NOTICED_MS)).toMatchObject({ status: 'completed', response: 'It is done.' });
    expect(await paidIn(shop.place)).toEqual(['1-1 a', '2-1 b']);
  });

  it('waits for its lane: the lane is not held for good, and later prompts are carried out', LIMIT, async () => {
    const shop = await guarded();
    here.model.script(shop.pay('a'), says('First.'), shop.pay('b'));
    const first = await here.prompt(shop.workflow_id);
    await parkedFor(first, '1-1');
    const second = await here.prompt(shop.workflow_id);
    const saved = await servers.backup();
    await approve(first, '1-1');
    await parkedFor(second, '1-1');
    await here.driver.epoch.beat(0);
    await saved.restore();
    await epochBegins(2);
    expect(await behind(first)).toBe('the end of the run');
    expect(await behind(second)).toBe('the call 1-1');
    const third = await here.prompt(shop.workflow_id);
    await decide(first, 'fail');
    await decide(second, 'fail');
    here.model.script(says('Third.'));
    expect(await here.ended(third, NOTICED_MS)).toMatchObject({ status: 'completed', response: 'Third.' });
    expect(await paidIn(shop.place)).toEqual(['1-1 a']);
  });
});

describe('a standby that is promoted some seconds behind', () => {
  it('begins an epoch, and no run claims that a call was not made', LIMIT, async () => {
    const shop = await guarded();
    here.model.script(shop.pay('a'), shop.pay('b'));
    const task_id = await here.prompt(shop.workflow_id);
    await parkedFor(task_id, '1-1');
    const standby = await servers.standby();
    await standby.catchUp();
    standby.fallBehind();
    await approve(task_id, '1-1');
    await parkedFor(task_id, '2-1');
    await standby.promote();
    await epochBegins(2);
    expect(lines.filter((line) => line.includes('begins'))).toEqual([
      expect.stringMatching(/from timeline 1 to 2, as after a failover.*epoch 2 begins. 1 unfinished tasks/),
    ]);
    expect(await behind(task_id)).toBe('the call 2-1');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect((await task(task_id)).messages.at(-1)).toMatchObject({ role: 'tool', content: OUTCOME_UNKNOWN });
    expect(await paidIn(shop.place)).toEqual(['1-1 a']);
    here.model.script(says('Next.'));
    expect(await here.ended(await here.prompt(shop.workflow_id), NOTICED_MS)).toMatchObject({ response: 'Next.' });
    expect(await epoch()).toBe(2);
  });

  it('leaves no hole in the stream of a run in progress', LIMIT, async () => {
    const words = Array.from({ length: 120 }, (_, index) => `word-${index} `);
    const workflow_id = await here.workflow();
    const standby = await servers.standby();
    here.model.script(says(words.join('').trim(), { pause_ms: 150 }));
    const task_id = await here.prompt(workflow_id);
    const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
    const has = (word: string) => here.alice.events(stream, { enough: ({ data }) => `${data.delta}`.includes(word) });
    await has('word-10 ');
    await standby.catchUp();
    standby.fallBehind();
    await has('word-40 ');
    await standby.promote();
    const text = words.join('').trim();
    expect(await here.ended(task_id, NOTICED_MS)).toMatchObject({ status: 'completed', response: text });
    const events = await here.alice.events(stream);
    expect(events.filter(({ data }) => data.event === 'attempt_reset')).toHaveLength(1);
    expect(rebuildTexts(events).texts).toEqual([text]);
  });
});
