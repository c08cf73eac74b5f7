import { v7 as uuid } from 'uuid';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { evaluating } from '../support/evaluations.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { labelsOf } from '../support/left-behind.ts';
import { says } from '../support/model-server.ts';
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
  const { dataset, order, ended } = evaluating(here);
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
