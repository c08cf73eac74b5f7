import { afterAll, beforeAll, expect, it } from 'vitest';
import { beginItemActivity } from '../../src/temporal/activities/evaluate.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';

let here: TestInstallation;
beforeAll(async () => {
  // Without a worker, an evaluation stays where its test puts it.
  here = await shareInstallation({ worker: false });
  here.model.always(says('x'));
});
afterAll(() => here.stop());

async function begun() {
  const { dataset, begin } = openEvaluations(here);
  const dataset_id = await dataset({ a: 'x' });
  const path = await begin(dataset_id, { workflow_id: await here.workflow() });
  const [item] = (await here.alice.ok(here.alice.get(`/api/datasets/${dataset_id}/items`))) as unknown as { id: string }[];
  return { path, evaluation_id: path.split('/').at(-1) as string, item_id: item?.id as string };
}

const activity = () => {
  const { store, judge } = here.core;
  const { evaluations, tasks } = store;
  return beginItemActivity({
    evaluations,
    tasks,
    dispatch: here.driver.dispatch,
    definition: store.definitions.get,
    authorizeEvaluation: async () => null,
    listPromptReasons: judge.listPromptReasons,
    public_url: () => null,
    role_queues: false,
    publishChange: here.core.publishChange,
  });
};

it('an attempt that repeats a lost one begins one run for an item, in a workflow that is not listed', async () => {
  const { evaluation_id, item_id } = await begun();
  const first = await activity()(evaluation_id, item_id);
  expect(await activity()(evaluation_id, item_id)).toEqual(first);
  const tasks = (await here.alice.ok(here.alice.get('/api/tasks?trigger=evaluation'))) as unknown as Record<string, any>[];
  expect(tasks.map(({ id, status }) => [id, status])).toEqual([[first?.run.task_id, 'pending']]);
  const listed = (await here.alice.ok(here.alice.get('/api/workflows'))) as unknown as { id: string }[];
  expect(listed.map(({ id }) => id)).not.toContain(tasks[0]?.workflow_id);
  await here.alice.ok(here.alice.get(`/api/workflows/${tasks[0]?.workflow_id}`));
});

it('counts the result of an item once, however often it is reported', async () => {
  const { path, ...place } = await begun();
  const { evaluations } = here.core.store;
  await evaluations.claim(place);
  for (const status of ['passed', 'passed', 'failed'] as const)
    await evaluations.settle(place, { status, grades: [], error: null });
  expect(await here.alice.ok(here.alice.get(path))).toMatchObject({ passed: 1, failed: 0, errors: 0 });
});

it('a judge is begun once for an answer, and ends with the evaluation', async () => {
  const { evaluation_id, ...place } = await begun();
  const { evaluations } = here.core.store;
  const task = await evaluations.claim({ evaluation_id, ...place });
  const [judge, other] = ['01900000-0000-7000-8000-00000000000a', '01900000-0000-7000-8000-00000000000b'] as const;
  for (const task_id of [judge, other])
    expect(await evaluations.note({ evaluation_id, ...place }, 1, { task_id })).toEqual({ task_id: judge });
  expect(await evaluations.note({ evaluation_id, ...place }, 2, { fault: 'no' })).toEqual({ fault: 'no' });
  expect((await evaluations.end(evaluation_id)).sort()).toEqual([judge, task?.task_id].sort());
  expect(await evaluations.note({ evaluation_id, ...place }, 3, { task_id: other })).toBeUndefined();
});

it('is not withdrawn by a first try whose request was repeated: the repetition may have been accepted', async () => {
  const { evaluation_id: id } = await begun();
  const { evaluations } = here.core.store;
  const key = { principal: 'ada', key: id, request_hash: 'x', reserved_id: id, claims: 2 };
  await here.core.database.prisma.idempotencyKey.create({ data: key });
  expect(await evaluations.discard(id, 1)).toBe(false);
  expect(await evaluations.find(id)).not.toBeNull();
  expect(await evaluations.discard(id, 2)).toBe(true);
});
