import { setTimeout as wait } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { AppError, conflict } from '../../src/domain/errors.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { labelsOf } from '../support/machine/left-behind.ts';
import { fails, says } from '../support/peers/model-server.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { holdAnswer } from '../support/runs/paying.ts';
import { until } from '../support/until.ts';

/** The engine receives a start, and the service does not get its answer in time. */
let here: TestInstallation;
let restore = () => {};
beforeAll(async () => {
  here = await startTestInstallation();
});
afterEach(() => restore());
afterAll(() => here.stop());

const unavailable = () => new AppError('unavailable', 'The answer is lost', { code: 'engine_unavailable' });
const tasksOf = (workflow_id: string) => here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`));

/** Loses the answers to starts; `meanwhile` is waited for in their place. */
function loseStarts<K extends 'engine' | 'evaluations'>(of: K, meanwhile: (started: any) => Promise<unknown>): void {
  const starter = here.driver[of];
  const { start } = starter;
  restore = () => Object.assign(starter, { start });
  Object.assign(starter, {
    async start(...given: unknown[]) {
      await (start as (...all: unknown[]) => Promise<unknown>)(...given);
      await meanwhile(given[0]);
      throw unavailable();
    },
  });
}

it('a prompt whose run has begun is accepted, so that its repetition is not another run', async () => {
  const workflow_id = await here.workflow();
  here.model.always(says('Once.'));
  loseStarts('engine', ({ task_id }) =>
    until('it has begun', async () => (await here.core.store.tasks.find(task_id))?.status !== 'pending'),
  );
  const send = () => here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' }, { 'idempotency-key': 'lost' });
  const { task_id } = await here.alice.ok(send(), 201);
  expect((await here.alice.ok(send())).task_id).toBe(task_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Once.' });
  expect(await tasksOf(workflow_id)).toHaveLength(1);
});

it('a prompt is carried out although the engine has had an execution for its id, which found no task', async () => {
  const workflow_id = await here.workflow();
  here.model.always(says('Late.'));
  const { engine, dispatch } = here.driver;
  const task_id = uuid();
  await engine.start({ task_id, max_turns: 1, queued: false }, labelsOf(workflow_id));
  await until('it has ended', async () => (await engine.state(task_id)) === 'closed');
  const { owner, owner_login } = (await here.core.store.snapshot(workflow_id))!.workflow;
  const order = { task_id, workflow_id, owner, owner_login, access_token: null, prompt: 'x', trigger: 'prompt' };
  await dispatch.prompt(order);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Late.' });
});

it('an evaluation that has begun is accepted, and one that has not is removed', async () => {
  const { dataset, order, ended } = openEvaluations(here);
  const dataset_id = await dataset({ 'Say it.': 'It.' });
  const body = { workflow_id: await here.workflow(), graders: [{ type: 'exact' }] };
  here.model.always(says('It.'));
  loseStarts('evaluations', ({ id }) =>
    until('it has begun', async () => (await here.core.store.evaluations.find(id))?.passed === 1),
  );
  const { id } = await here.alice.ok(order(dataset_id, body), 201);
  expect((await ended(`/api/datasets/${dataset_id}/runs/${id}`)).evaluation).toMatchObject({ status: 'completed', passed: 1 });
  restore();
  Object.assign(here.driver.evaluations, { start: () => Promise.reject(unavailable()) });
  expect(await order(dataset_id, body)).toMatchObject({ status: 503 });
  expect(await here.alice.ok(here.alice.get(`/api/datasets/${dataset_id}/runs`))).toMatchObject([{ id }]);
});

it('a prompt that waits is accepted although the engine is lost right after its start', async () => {
  const workflow_id = await here.workflow();
  const first = holdAnswer(says('First.'));
  here.model.script(first.answer, says('Second.'));
  const first_id = await here.prompt(workflow_id);
  await first.asked;
  const { engine } = here.driver;
  const { start, proceed } = engine;
  restore = () => Object.assign(engine, { start, proceed });
  Object.assign(engine, {
    proceed: () => Promise.reject(unavailable()),
    async start(...given: Parameters<typeof start>) {
      const is_first = await start(...given);
      first.release();
      expect(await here.ended(first_id)).toMatchObject({ status: 'completed' });
      return is_first;
    },
  });
  const { task_id } = await here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' }), 201);
  restore();
  await engine.proceed(task_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Second.' });
});

it('a request whose first try may have made something keeps its id, however its repetitions fail', async () => {
  const { idempotency } = here.core.store;
  const claim = async (key: string) => (await idempotency.claim({ principal: 'test:1', key }, 'hash')) as any;
  const fail = (key: string, error: Error, made: { claim: number }) =>
    idempotency.failed({ principal: 'test:1', key }, error, made);
  const first = await claim('uncertain');
  expect(first).toMatchObject({ kind: 'new', claim: 1 });
  let latest = first;
  for (const error of [unavailable(), conflict('It is busy'), new Error('The database is lost'), unavailable()]) {
    await fail('uncertain', error, latest);
    const { claim: before } = latest;
    latest = await claim('uncertain');
    expect(latest).toEqual({ kind: 'new', reserved_id: first.reserved_id, claim: before + 1 });
  }
  const refused = await claim('refused');
  await fail('refused', conflict('It is busy'), refused);
  expect(await claim('refused')).toMatchObject({ kind: 'new', claim: 1 });
});

it('an answer is asked for again only once the record counts the attempt that pays for it', async () => {
  const workflow_id = await here.workflow();
  here.model.script(fails(500), says('Counted.'));
  const before = here.model.requests.length;
  const { pool } = here.core.database;
  const task_id = await here.prompt(workflow_id);
  const logged = (event: string) =>
    pool.query(`SELECT 1 FROM events WHERE task_id = $1 AND data ->> 'event' = $2`, [task_id, event]);
  await until('the first attempt has failed', async () => (await logged('retry')).rowCount === 1);
  const other = await pool.connect();
  try {
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [task_id]);
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    await until('the second attempt is being written', async () => (await pool.query(waits)).rowCount === 1);
    await wait(500);
    expect(here.model.requests).toHaveLength(before + 1);
    await other.query('ROLLBACK');
  } finally {
    other.release();
  }
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Counted.' });
  expect((await logged('attempt_reset')).rowCount).toBe(1);
  expect(here.model.requests).toHaveLength(before + 2);
});
