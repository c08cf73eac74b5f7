import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

async function run(workflow_id: string, answer = 'ok'): Promise<Record<string, any>> {
  here.model.script(says(answer));
  return here.ended(await here.prompt(workflow_id, 'What?'));
}

const score = (task_id: string, body: object, key?: string) =>
  here.alice.post(`/api/tasks/${task_id}/scores`, body, key ? { 'idempotency-key': key } : undefined);

it('a run gets thumbs and numbers with notes, listed newest first, and loses the one that is deleted', async () => {
  const { id } = await run(await here.workflow());
  const thumb = await here.alice.ok(score(id, { thumb: 'down', note: 'It named the wrong month.' }, 'once'), 201);
  expect(await here.alice.ok(score(id, { thumb: 'down', note: 'It named the wrong month.' }, 'once'))).toEqual(thumb);
  const number = await here.alice.ok(score(id, { value: 3.5 }), 201);
  expect(thumb).toMatchObject({ task_id: id, thumb: 'down', value: null, created_by: here.people.alice.subject });
  expect(await here.alice.ok(here.alice.get(`/api/tasks/${id}/scores`))).toEqual([number, thumb]);
  expect((await here.alice.del(`/api/tasks/${id}/scores/${thumb.id}`)).status).toBe(204);
  expect((await here.alice.del(`/api/tasks/${id}/scores/${thumb.id}`)).status).toBe(404);
  expect(await here.alice.ok(here.alice.get(`/api/tasks/${id}/scores`))).toEqual([number]);
});

it('a score is either a thumb or a number', async () => {
  const { id } = await run(await here.workflow());
  for (const body of [{}, { thumb: 'up', value: 1 }, { note: 'only' }, { thumb: 'sideways' }, { value: 'high' }])
    expect((await score(id, body)).status).toBe(422);
});

it('the mean of the largest numbers is a number, and larger ones are refused', async () => {
  const workflow_id = await here.workflow();
  const { id } = await run(workflow_id);
  const largest = 1_000_000_000_000;
  for (const value of [1e308, -1e308, largest * 2]) expect((await score(id, { value })).status).toBe(422);
  for (const value of [largest, largest]) await here.alice.ok(score(id, { value }), 201);
  const rows = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}/scores`));
  expect(rows).toMatchObject([{ scored: 1, mean_value: largest }]);
});

it('a score of one run cannot be deleted through another run', async () => {
  const workflow_id = await here.workflow();
  const [one, other] = [await run(workflow_id), await run(workflow_id)];
  const made = await here.alice.ok(score(one.id, { thumb: 'up' }), 201);
  expect((await here.alice.del(`/api/tasks/${other.id}/scores/${made.id}`)).status).toBe(404);
  expect(await here.alice.ok(here.alice.get(`/api/tasks/${one.id}/scores`))).toHaveLength(1);
});

it('scores are summed up by version, the version that ran last first', async () => {
  const workflow_id = await here.workflow({ workflow: { max_turns: 5 } });
  const [first, second] = [await run(workflow_id), await run(workflow_id)];
  await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { max_turns: 6 }));
  const third = await run(workflow_id);
  await here.alice.ok(score(first.id, { thumb: 'up' }), 201);
  await here.alice.ok(score(first.id, { value: 2 }), 201);
  await here.alice.ok(score(second.id, { value: 5 }), 201);
  await here.alice.ok(score(third.id, { thumb: 'down' }), 201);
  const rows = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}/scores`));
  const common = { model: 'scripted' };
  expect(rows).toMatchObject([
    {
      ...common,
      definition_hash: third.definition_hash,
      runs: 1,
      completed: 1,
      scored: 1,
      thumbs_up: 0,
      thumbs_down: 1,
      mean_value: null,
    },
    { ...common, definition_hash: first.definition_hash, runs: 2, scored: 2, thumbs_up: 1, thumbs_down: 0, mean_value: 3.5 },
  ]);
});
