import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NOT_CALLED, OUTCOME_UNKNOWN } from '../../src/domain/transcript.ts';
import { doctorChecks } from '../../src/main/doctor-checks.ts';
import { createParkedRuns } from '../../src/temporal/repair/parked-runs.ts';
import { reconcile } from '../../src/temporal/repair/reconcile-tasks.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { holdAnswer, openShop, paidIn } from '../support/runs/paying.ts';
import { recordCopy } from '../support/runs/record-copy.ts';
import { until } from '../support/until.ts';

/** The record of one workflow is set back while its run is parked in the engine: nothing wakes the run, and no epoch begins. */
let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-parked-'));
  here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none', RECONCILE_SECONDS: '3600' } });
});
afterAll(async () => {
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
const task = (id: string) => here.alice.ok(here.alice.get(`/api/tasks/${id}?include=logs,messages,steps`));
const decide = (id: string, decision: 'resume' | 'fail') =>
  here.alice.ok(here.alice.post(`/api/tasks/${id}/continuity`, { decision }));
const approve = (id: string, call_id: string) =>
  here.alice.ok(here.alice.post(`/api/tasks/${id}/approvals/${call_id}`, { decision: 'approve' }));
const behind = (id: string) => until('its record is behind', async () => (await task(id)).record_behind as string | null, 30_000);
const parkedFor = (id: string, call_id: string) =>
  until(`the run waits for ${call_id}`, async () =>
    (await here.driver.engine.waits(id))?.some((wait) => wait.for === 'call' && wait.call_id === call_id),
  );

const known = createParkedRuns();
/** A comparison as it would be made some time from now. `asking`: how often a run was asked what it waits for. */
async function compareLater(parked = known) {
  const { store } = here.core;
  const { engine, settle } = here.driver;
  const asking: string[] = [];
  const counted = {
    ...engine,
    waits(task_id: string) {
      asking.push(task_id);
      return engine.waits(task_id);
    },
  };
  const definition = (hash: string) => store.definitions.get(hash);
  const done = await reconcile({
    ...{ store, engine: counted, settle, definition, parked },
    now: () => new Date(Date.now() + 60_000),
  });
  return { ...done, asking };
}

/** A workflow whose payments have to be approved. */
async function guarded() {
  const shop = await openShop(here, folder);
  await here.alice.ok(here.alice.put(`/api/agents/${shop.agent_id}`, { approval_tools: [shop.name] }));
  return shop;
}

/** Waits for the approval of the second payment; the record waits for that of the first, which was made. */
async function parkedAhead() {
  const shop = await guarded();
  here.model.script(shop.pay('a'), shop.pay('b'));
  const task_id = await here.prompt(shop.workflow_id);
  await parkedFor(task_id, '1-1');
  const copy = await shop.copy();
  await approve(task_id, '1-1');
  await parkedFor(task_id, '2-1');
  await copy.restore();
  return { ...shop, task_id, copy };
}

describe('a run that is parked further than its record', () => {
  it('notices it when it gets a decision that it does not wait for, and resumes from its record', async () => {
    const { task_id, place, pay } = await parkedAhead();
    expect(await task(task_id)).toMatchObject({ status: 'waiting', record_behind: null });
    await approve(task_id, '1-1');
    expect(await behind(task_id)).toBe('the call 2-1');
    expect(await paidIn(place)).toEqual(['1-1 a']);
    here.model.script(pay('b'), says('It is done.'));
    await decide(task_id, 'resume');
    const asked = (name: string) => async () => (await task(task_id)).logs.find((entry: any) => entry.event === name);
    expect(await until('a question', asked('reconciliation_requested'))).toMatchObject({ restored: true });
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, { decision: 'done', result: 'paid a' }));
    await parkedFor(task_id, '2-1');
    await approve(task_id, '2-1');
    await until(
      'the write is asked about',
      async () => (await here.core.store.ledger.open(task_id, '2-1'))?.status === 'waiting_reconciliation',
    );
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/2-1`, { decision: 'retry' }));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'It is done.' });
    expect(await paidIn(place)).toEqual(['1-1 a', '2-1 b']);
  });

  it('is found by the reconciler, once, and a halt does not say that the call was not made', async () => {
    const { task_id, place } = await parkedAhead();
    await sql(`UPDATE tasks SET created_at = created_at - interval '1 hour' WHERE id = $1`, task_id);
    const { runs } = doctorChecks(here.core, here.driver);
    await expect(runs!()).rejects.toThrow(`wait for what their record does not have: ${task_id}`);
    expect(await compareLater()).toMatchObject({ behind: 1, lost: 0, restarted: 0 });
    expect(await runs!()).toContain('because their record is older');
    expect(await task(task_id)).toMatchObject({ status: 'waiting', record_behind: 'the call 2-1' });
    const inbox = (await here.alice.ok(here.alice.get('/api/inbox'))) as unknown as object[];
    expect(inbox).toContainEqual(expect.objectContaining({ id: task_id, kind: 'behind', record_behind: 'the call 2-1' }));
    expect(await compareLater()).toMatchObject({ behind: 0, lost: 0, restarted: 0 });
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    expect((await here.ended(task_id)).status).toBe('halted');
    expect((await task(task_id)).messages.at(-1)).toMatchObject({ role: 'tool', content: OUTCOME_UNKNOWN });
    expect(await paidIn(place)).toEqual(['1-1 a']);
  });

  it('does not say that the call was not made if it is halted before anything has noticed', async () => {
    const { task_id } = await parkedAhead();
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    expect((await here.ended(task_id)).status).toBe('halted');
    expect((await task(task_id)).messages.at(-1)).toMatchObject({ role: 'tool', content: OUTCOME_UNKNOWN });
  });

  it('is found when the record does not know its step', async () => {
    const shop = await guarded();
    const first = holdAnswer(shop.pay('a'));
    here.model.script(first.answer);
    const task_id = await here.prompt(shop.workflow_id);
    await first.asked;
    const copy = await shop.copy();
    first.release();
    await parkedFor(task_id, '1-1');
    await copy.restore();
    expect(await task(task_id)).toMatchObject({ status: 'running' });
    expect(await compareLater()).toMatchObject({ behind: 1 });
    expect(await task(task_id)).toMatchObject({ status: 'waiting', record_behind: 'the call 1-1' });
    await decide(task_id, 'fail');
  });

  it('is found when the record has its call and not its question, and the call is not made silently', async () => {
    const shop = await guarded();
    here.model.script(shop.pay('a'));
    const task_id = await here.prompt(shop.workflow_id);
    await parkedFor(task_id, '1-1');
    await sql(`UPDATE tool_calls SET status = 'planned', approval = false WHERE task_id = $1`, task_id);
    await sql(`UPDATE tasks SET status = 'running' WHERE id = $1`, task_id);
    // The run itself compares as the reconciler does.
    await here.driver.engine.decide(task_id, '1-1');
    expect(await behind(task_id)).toBe('the question about the call 1-1');
    expect(await paidIn(shop.place)).toEqual([]);
    await decide(task_id, 'fail');
  });

  it('is found when it waits for its budget', async () => {
    const workflow_id = await here.workflow({ workflow: { budget: { max_tokens: 1, on_exhausted: 'wait' } } });
    const task_id = await here.prompt(workflow_id);
    const copy = await recordCopy(here.core.database.pool, workflow_id);
    copy.rows.set('task_steps', []);
    await until('the run waits', async () => (await here.driver.engine.waits(task_id))?.some((wait) => wait.for === 'budget'));
    for (const row of copy.rows.get('tasks')!) Object.assign(row, { status: 'running', steps: 0 });
    await copy.restore();
    expect(await compareLater()).toMatchObject({ behind: 1 });
    expect((await task(task_id)).record_behind).toBe('the beginning of step 1');
    await decide(task_id, 'fail');
  });

  it('is found if it waits because its record was behind, and the record was restored again', async () => {
    const { task_id, copy } = await parkedAhead();
    await approve(task_id, '1-1');
    await behind(task_id);
    await until('the run waits for a person', async () =>
      (await here.driver.engine.waits(task_id))?.some((wait) => wait.for === 'person'),
    );
    await copy.restore();
    expect(await task(task_id)).toMatchObject({ record_behind: null });
    expect(await compareLater()).toMatchObject({ behind: 1 });
    expect((await task(task_id)).record_behind).toContain('had found missing');
    await decide(task_id, 'fail');
  });
});

it('a run whose lane is passed to it, although it has had it before, does not hold the lane for good', async () => {
  const shop = await guarded();
  here.model.script(shop.pay('a'), says('First.'), shop.pay('b'));
  const first = await here.prompt(shop.workflow_id);
  await parkedFor(first, '1-1');
  const second = await here.prompt(shop.workflow_id);
  const copy = await shop.copy();
  await approve(first, '1-1');
  await parkedFor(second, '1-1');
  await copy.restore();
  const third = await here.prompt(shop.workflow_id);
  await compareLater();
  expect(await task(first)).toMatchObject({ record_behind: 'the end of the run' });
  await decide(first, 'fail');
  expect(await behind(second)).toBe('the call 1-1');
  await decide(second, 'fail');
  here.model.script(says('Third.'));
  expect(await here.ended(third)).toMatchObject({ status: 'completed', response: 'Third.' });
});

describe('the comparison of parked runs', () => {
  it('asks a run once as long as it waits, and finds nothing where nothing is missing', async () => {
    const shop = await guarded();
    here.model.script(shop.pay('a'), shop.pay('b'), says('Both.'));
    const task_id = await here.prompt(shop.workflow_id);
    await parkedFor(task_id, '1-1');
    const own = createParkedRuns();
    expect(await compareLater(own)).toMatchObject({ behind: 0, asking: [task_id] });
    expect(await compareLater(own)).toMatchObject({ behind: 0, asking: [] });
    await approve(task_id, '1-1');
    await parkedFor(task_id, '2-1');
    expect(await compareLater(own)).toMatchObject({ behind: 0, asking: [task_id] });
    await approve(task_id, '2-1');
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Both.' });
    expect(await compareLater(own)).toMatchObject({ behind: 0, asking: [] });
  });

  it('asks only some runs at a time', async () => {
    const shop = await guarded();
    const others = await guarded();
    here.model.always(asks({ name: shop.name, args: { order: 'a' } }));
    const tasks = [await here.prompt(shop.workflow_id)];
    await parkedFor(tasks[0]!, '1-1');
    here.model.always(others.pay('a'));
    tasks.push(await here.prompt(others.workflow_id));
    await parkedFor(tasks[1]!, '1-1');
    const own = createParkedRuns({ most_asked: 1 });
    const asked = [await compareLater(own), await compareLater(own), await compareLater(own)];
    expect(asked.map(({ asking }) => asking.length)).toEqual([1, 1, 0]);
    expect(asked.flatMap(({ asking }) => asking).toSorted()).toEqual(tasks.toSorted());
    for (const id of tasks) await here.alice.post(`/api/tasks/${id}/stop`);
    for (const id of tasks) {
      await here.ended(id);
      // The ledger proves it.
      expect((await task(id)).messages.at(-1)).toMatchObject({ content: NOT_CALLED });
    }
  });
});
