import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OUTCOME_UNKNOWN } from '../../src/domain/transcript.ts';
import { toRunId } from '../../src/temporal/names.ts';
import { reconcile } from '../../src/temporal/repair/reconcile-tasks.ts';
import { carryOut } from '../../src/temporal/start/continuity.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { says } from '../support/peers/model-server.ts';
import { holdAnswer, openShop, paidIn } from '../support/runs/paying.ts';
import { type RecordCopy, recordCopy } from '../support/runs/record-copy.ts';
import { until } from '../support/until.ts';

/** A database that is restored from an older copy while the engine continues: the record of a run is behind its execution. */
let here: TestInstallation;
let folder: string;
const workers: Child[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-continuity-'));
  here = await startTestInstallation({ worker: false });
  await startWorker();
});
afterAll(async () => {
  for (const worker of workers) await worker.end('SIGKILL');
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

async function startWorker(): Promise<void> {
  workers.push(await startWorkerProcess(here.setting, { TOOL_ISOLATION: 'none' }));
}
const loseWorker = () => workers.shift()!.end('SIGKILL');

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
const task = (id: string) => here.alice.ok(here.alice.get(`/api/tasks/${id}?include=logs,messages,steps`));
const logged = async (id: string, name: string) => {
  const { rows } = await sql(`SELECT data FROM events WHERE task_id = $1 AND data ->> 'event' = $2 ORDER BY seq`, id, name);
  return rows.map(({ data }) => data);
};
const waits = (id: string) => until('the task waits', async () => (await task(id)).status === 'waiting' && task(id), 40_000);
const decide = (id: string, decision: 'resume' | 'fail') => here.alice.post(`/api/tasks/${id}/continuity`, { decision });
const settleCall = (id: string, call_id: string, body: object) =>
  here.alice.ok(here.alice.post(`/api/tasks/${id}/reconciliations/${call_id}`, body));
const executionOf = async (id: string) => (await here.driver.client.workflow.getHandle(toRunId(id)).describe()).runId;

const ports = () => {
  const { store } = here.core;
  const { engine, settle } = here.driver;
  return { store, engine, settle, definition: (hash: string) => store.definitions.get(hash) };
};
/** A comparison as it would be made some time from now. */
const compareLater = () => reconcile({ ...ports(), now: () => new Date(Date.now() + 60_000) });

/** The results that the model got with its last request. */
const resultsSeen = () =>
  here.model.requests
    .at(-1)
    ?.messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

describe('a run whose record was restored to an older state', () => {
  /** Two payments were made and the model is asked for the third time; the record has the first payment only. */
  async function behindInAModelStep() {
    const shop = await openShop(here, folder);
    const [second, third] = [holdAnswer(shop.pay('b')), holdAnswer(says('It is done.'))];
    here.model.script(shop.pay('a'), second.answer, third.answer);
    const task_id = await here.prompt(shop.workflow_id);
    await second.asked;
    const copy = await shop.copy();
    second.release();
    await third.asked;
    await copy.restore();
    third.release();
    await waits(task_id);
    return { ...shop, task_id, copy };
  }

  /** The record as it was when the step had been recorded and its call had not begun. */
  async function beforeCall(shop: { copy(): Promise<RecordCopy> }, step: number): Promise<RecordCopy> {
    const copy = await shop.copy();
    for (const call of copy.rows.get('tool_calls')!)
      if (call.step === step) Object.assign(call, { status: 'planned', attempts: 0, started_at: null, ended_at: null });
    const keep = (table: string, kept: (row: any) => boolean) => copy.rows.set(table, copy.rows.get(table)!.filter(kept));
    keep('task_steps', (row) => row.step <= step);
    keep('task_messages', (row) => row.step < step || row.position === 0);
    return copy;
  }

  it('waits in a model step, says what the record lacks, and resumes from it: it asks before it writes again', async () => {
    const { task_id, workflow_id, place, pay } = await behindInAModelStep();
    expect(await task(task_id)).toMatchObject({ status: 'waiting', record_behind: 'step 2' });
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).toMatchObject({ status: 'waiting' });
    expect(await logged(task_id, 'record_behind')).toMatchObject([
      { missing: 'step 2', detail: expect.stringContaining('lacks step 2') },
    ]);
    expect(await here.driver.engine.state(task_id)).toBe('waiting');
    const listed = (await here.alice.get('/api/tasks?status=waiting')).body as unknown as { id: string }[];
    expect(listed.map(({ id }) => id)).toContain(task_id);
    const asked = here.model.requests.length;

    here.model.script(pay('b'));
    expect((await decide(task_id, 'resume')).status).toBe(200);
    const request = await until('a question', async () => (await logged(task_id, 'reconciliation_requested'))[0]);
    expect(request).toMatchObject({ call_id: '2-1', restored: true, detail: expect.stringContaining('was restored') });
    expect(await logged(task_id, 'continuity_decided')).toMatchObject([{ decision: 'resume', by: 'alice' }]);
    expect((await waits(task_id)).record_behind).toBeNull();
    expect(here.model.requests.length).toBe(asked + 1);
    expect(await paidIn(place)).toEqual(['1-1 a', '2-1 b']);

    here.model.script(says('It is done.'));
    await settleCall(task_id, '2-1', { decision: 'done', result: 'paid b' });
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'It is done.', steps: 3, turns: 2 });
    expect(resultsSeen()).toEqual(['{"result": "paid a"}', 'paid b']);
    expect(await paidIn(place)).toEqual(['1-1 a', '2-1 b']);
    expect(here.model.requests.length).toBe(asked + 2);
  });

  it('can be failed: its error names what was missing, and the next run of its lane starts', async () => {
    const { task_id, workflow_id } = await behindInAModelStep();
    const next = await here.prompt(workflow_id);
    expect((await here.bob.post(`/api/tasks/${task_id}/continuity`, { decision: 'fail' })).status).toBe(403);
    here.model.script(says('The next.'));
    expect((await decide(task_id, 'fail')).body).toMatchObject({
      ...{
        status: 'failed',
        error_code: 'record_behind',
        error: expect.stringContaining('lacks step 2'),
        record_behind: 'step 2',
      },
    });
    expect((await decide(task_id, 'resume')).body.code).toBe('nothing_to_decide');
    expect(await here.ended(next)).toMatchObject({ status: 'completed' });
    await until('the execution is over', async () => (await here.driver.engine.state(task_id)) === 'closed');
  });

  it('can be halted', async () => {
    const { task_id } = await behindInAModelStep();
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted', error_code: null });
  });

  it('waits in a tool call that the record does not know, also if its worker is lost and another takes over', async () => {
    const shop = await openShop(here, folder);
    const second = holdAnswer(shop.pay('b'));
    here.model.script(shop.pay('a'), second.answer);
    const task_id = await here.prompt(shop.workflow_id);
    await second.asked;
    const copy = await shop.copy();
    await shop.close();
    second.release();
    await shop.paid('2-1');
    await copy.restore();
    await loseWorker();
    await startWorker();
    expect((await waits(task_id)).record_behind).toBe('the call 2-1');
    expect(await paidIn(shop.place)).toEqual(['1-1 a', '2-1 b']);
    // Parked in the engine: a worker that comes later changes nothing.
    await loseWorker();
    await startWorker();
    await compareLater();
    expect(await task(task_id)).toMatchObject({ status: 'waiting', record_behind: 'the call 2-1' });
    expect(await logged(task_id, 'record_behind')).toHaveLength(1);
    await shop.open();
    here.model.script(shop.pay('b'), says('Twice, as you said.'));
    await decide(task_id, 'resume');
    // Until its connection is known to be closed, the engine may give work to a worker that was killed.
    await until('a question', async () => (await logged(task_id, 'reconciliation_requested'))[0], 60_000);
    await settleCall(task_id, '2-1', { decision: 'retry' });
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Twice, as you said.' });
    expect(await paidIn(shop.place)).toEqual(['1-1 a', '2-1 b', '2-1 b']);
  }, 180_000);

  it('waits between a call and the next step, and never says that the call was not made', async () => {
    const shop = await openShop(here, folder);
    const third = holdAnswer(says('It is done.'));
    here.model.script(shop.pay('a'), shop.pay('b'), third.answer);
    await shop.close();
    const task_id = await here.prompt(shop.workflow_id);
    await shop.paid('1-1');
    await shop.open();
    await third.asked;
    const copy = await beforeCall(shop, 2);
    await copy.restore();
    third.release();
    expect((await waits(task_id)).record_behind).toBe('the result of the call 2-1');
    await decide(task_id, 'fail');
    const { messages, steps_detail } = await task(task_id);
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: OUTCOME_UNKNOWN });
    expect(steps_detail[1].tool_calls[0]).toMatchObject({ status: 'done', failed: true, result: OUTCOME_UNKNOWN });
    expect(await paidIn(shop.place)).toEqual(['1-1 a', '2-1 b']);
  });

  it('is running again while it repeats a call that only reads', async () => {
    const shop = await openShop(here, folder, 'read');
    const second = holdAnswer(says('Too late.'));
    here.model.script(shop.pay('a'), second.answer);
    const task_id = await here.prompt(shop.workflow_id);
    await second.asked;
    await (await beforeCall(shop, 1)).restore();
    second.release();
    expect((await waits(task_id)).record_behind).toBe('the result of the call 1-1');
    await shop.close();
    here.model.script(says('It is done.'));
    await decide(task_id, 'resume');
    await until('the call is made again', async () => (await paidIn(shop.place)).length === 2);
    expect(await task(task_id)).toMatchObject({ status: 'running' });
    await shop.open();
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'It is done.' });
  });

  it('waits if only its final answer is missing', async () => {
    const facts = holdAnswer(says('[]'));
    const workflow_id = await here.workflow({ workflow: { auto_memory: true } });
    const answer = holdAnswer(says('The answer.'));
    here.model.script(answer.answer, facts.answer);
    const task_id = await here.prompt(workflow_id);
    await answer.asked;
    const copy = await recordCopy(here.core.database.pool, workflow_id);
    answer.release();
    await facts.asked;
    await copy.restore();
    facts.release();
    expect((await waits(task_id)).record_behind).toBe('the final answer');
    here.model.script(says('The answer again.'), says('[]'));
    await decide(task_id, 'resume');
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'The answer again.' });
  });

  it('waits if the engine has seen its end', async () => {
    const shop = await openShop(here, folder);
    const last = holdAnswer(says('It is done.'));
    here.model.script(shop.pay('a'), last.answer);
    const task_id = await here.prompt(shop.workflow_id);
    await last.asked;
    const copy = await shop.copy();
    last.release();
    await here.ended(task_id);
    await until('the execution is over', async () => (await here.driver.engine.state(task_id)) === 'closed');
    await copy.restore();
    expect(await compareLater()).toMatchObject({ behind: 1, lost: 0, restarted: 0 });
    expect(await task(task_id)).toMatchObject({ status: 'waiting', record_behind: 'the end of the run' });
    expect(await compareLater()).toMatchObject({ behind: 0, lost: 0, restarted: 0 });
    here.model.script(says('It is done again.'));
    await decide(task_id, 'resume');
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'It is done again.' });
    expect(await paidIn(shop.place)).toEqual(['1-1 a']);
  });

  it.each([
    ['its worker', async () => {}],
    [
      'another worker, which has not seen it before',
      async () => {
        await loseWorker();
        await startWorker();
      },
    ],
  ])('waits if its definition is missing for %s, and can then only be failed', async (_, change) => {
    const shop = await openShop(here, folder);
    here.model.script(shop.pay('a'));
    await shop.close();
    const task_id = await here.prompt(shop.workflow_id);
    await shop.paid('1-1');
    await sql('ALTER TABLE tasks DROP CONSTRAINT IF EXISTS tasks_definition_hash_fkey');
    await sql('DELETE FROM definitions WHERE hash = (SELECT definition_hash FROM tasks WHERE id = $1)', task_id);
    await change();
    await shop.open();
    expect((await waits(task_id)).record_behind).toBe('its definition');
    expect((await decide(task_id, 'resume')).body).toMatchObject({
      code: 'nothing_to_decide',
      detail: expect.stringContaining('definition'),
    });
    expect((await decide(task_id, 'fail')).body).toMatchObject({ status: 'failed', error_code: 'record_behind' });
  });
});

describe('a run whose task is missing', () => {
  it('writes nothing, and is parked when its task is back', async () => {
    const workflow_id = await here.workflow();
    const answer = holdAnswer(says('Never recorded.'));
    here.model.script(answer.answer);
    const task_id = await here.prompt(workflow_id);
    await answer.asked;
    const copy = await recordCopy(here.core.database.pool, workflow_id);
    await sql('DELETE FROM tasks WHERE id = $1', task_id);
    await sql('DELETE FROM events WHERE task_id = $1', task_id);
    answer.release();
    await until('the execution is over', async () => (await here.driver.engine.state(task_id)) === 'closed', 30_000);
    expect((await here.driver.client.workflow.getHandle(toRunId(task_id)).describe()).status.name).toBe('FAILED');
    for (const table of ['task_steps', 'task_messages', 'tool_calls', 'events'])
      expect((await sql(`SELECT 1 FROM ${table} WHERE task_id = $1`, task_id)).rowCount, table).toBe(0);
    await copy.restore();
    expect(await compareLater()).toMatchObject({ behind: 1, lost: 0 });
    expect(await task(task_id)).toMatchObject({ status: 'waiting', record_behind: 'the end of the run' });
  });
});

describe('the decision to resume', () => {
  /** A run that waits, as after a restore, although nothing was lost. */
  async function parked() {
    const workflow_id = await here.workflow();
    const first = holdAnswer(says('Late.'));
    here.model.script(first.answer);
    const task_id = await here.prompt(workflow_id);
    await first.asked;
    const { store } = here.core;
    const run_id = await executionOf(task_id);
    await store.continuity.park({ task_id, workflow_id }, { run_id, missing: 'something', events: [] });
    return { task_id, workflow_id, run_id };
  }

  it('is carried out by the reconciler if the engine did not get it, and once', async () => {
    const { store } = here.core;
    const { task_id, workflow_id, run_id } = await parked();
    expect(await store.continuity.decide({ task_id, workflow_id }, { decision: 'resume', events: [] })).toBe(true);
    const stale = (await store.tasks.findUnfinished(task_id))!;
    const answer = holdAnswer(says('Resumed.'));
    here.model.script(answer.answer);
    expect(await compareLater()).toMatchObject({ restarted: 1, lost: 0, behind: 0 });
    expect(await compareLater()).toMatchObject({ restarted: 0, lost: 0, behind: 0 });
    const second = await executionOf(task_id);
    expect(second).not.toBe(run_id);
    // Another reconciler that is late does not end the execution that replaced the first.
    await carryOut(ports(), stale);
    expect(await executionOf(task_id)).toBe(second);
    answer.release();
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Resumed.' });
  });

  it('is not taken back by what is left of the old execution', async () => {
    const { store } = here.core;
    const { task_id, workflow_id, run_id } = await parked();
    here.model.script(says('Resumed.'));
    expect((await decide(task_id, 'resume')).status).toBe(200);
    expect(await store.continuity.park({ task_id, workflow_id }, { run_id, missing: 'late', events: [] })).toBe(false);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Resumed.' });
  });

  it('to fail is carried out by the reconciler, too', async () => {
    const { task_id, workflow_id } = await parked();
    await here.core.store.continuity.decide({ task_id, workflow_id }, { decision: 'fail', events: [] });
    await compareLater();
    expect(await task(task_id)).toMatchObject({ status: 'failed', error_code: 'record_behind' });
  });

  it('is not made for a run that waits when the engine loses it', async () => {
    const { task_id } = await parked();
    await here.driver.engine.terminate(task_id, 'lost');
    expect(await compareLater()).toMatchObject({ restarted: 0, lost: 0, behind: 0 });
    expect(await task(task_id)).toMatchObject({ status: 'waiting' });
    await decide(task_id, 'fail');
  });

  it('lets a run that does not hold its lane wait for it', async () => {
    const { task_id, workflow_id } = await parked();
    const other = await here.prompt(workflow_id);
    await sql('UPDATE workflows SET active_task_id = $2 WHERE id = $1', workflow_id, other);
    await decide(task_id, 'resume');
    expect(await task(task_id)).toMatchObject({ status: 'pending' });
    here.model.script(says('First.'), says('Second.'));
    await here.driver.engine.proceed(other);
    expect(await here.ended(other)).toMatchObject({ response: 'First.' });
    expect(await here.ended(task_id)).toMatchObject({ response: 'Second.' });
  });
});

it('an engine that is older than the record repeats nothing', async () => {
  const shop = await openShop(here, folder);
  const third = holdAnswer(says('Lost with its execution.'));
  here.model.script(shop.pay('a'), shop.pay('b'), third.answer);
  const task_id = await here.prompt(shop.workflow_id);
  await third.asked;
  const { workflowService, options } = here.driver.client;
  const asked = here.model.requests.length;
  here.model.script(says('It is done.'));
  // Afterwards it knows that the run was started, and nothing of its steps.
  const { events } = await here.driver.client.workflow.getHandle(toRunId(task_id)).fetchHistory();
  const started = events?.find(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes);
  await workflowService.resetWorkflowExecution({
    namespace: options.namespace,
    workflowExecution: { workflowId: toRunId(task_id) },
    reason: 'The engine is restored',
    requestId: randomUUID(),
    workflowTaskFinishEventId: started!.eventId!,
  });
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'It is done.', turns: 2 });
  expect(await paidIn(shop.place)).toEqual(['1-1 a', '2-1 b']);
  expect(here.model.requests.length).toBe(asked + 1);
  expect(await logged(task_id, 'record_behind')).toEqual([]);
  third.release();
});
