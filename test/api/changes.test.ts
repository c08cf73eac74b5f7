import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { followChanges } from '../support/runs/changes.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ env: { TOOL_ISOLATION: 'none' } });
});
afterAll(() => here?.stop());

type Followed = Awaited<ReturnType<typeof followChanges>>;

const follow = async ({ onTestFinished }: TestContext, token: string): Promise<Followed> => {
  const followed = await followChanges(here.url, token);
  onTestFinished(followed.leave);
  return followed;
};

/** Makes a record that only Bob may see. Once it is reported, so is everything that happened before it. */
async function fence(bob: Followed): Promise<string> {
  const { id } = await here.bob.ok(here.bob.post('/api/datasets', { name: here.unique('fence') }), 201);
  await until('the dataset is reported', async () => bob.seen.some((change) => change.id === id));
  return id;
}

describe('the stream of changes', () => {
  it('reports a run to its owner, and nothing of it to anybody else', async (context) => {
    const workflow_id = await here.workflow();
    const [alice, bob] = [await follow(context, here.people.alice.token), await follow(context, here.people.bob.token)];
    here.model.script(says('Done.'));
    const id = await here.prompt(workflow_id);
    await here.ended(id);
    await until('the run is reported', async () => alice.seen.some(({ kind }) => kind === 'tasks'));
    expect(alice.seen).toContainEqual({ kind: 'tasks', id, workflow_id });
    const dataset_id = await fence(bob);
    expect(bob.seen).toEqual([{ kind: 'datasets', id: dataset_id }]);
    expect(alice.seen.filter(({ kind }) => kind === 'datasets')).toEqual([]);
  });

  it('reports what a run waits for, and the decision', async (context) => {
    const tool = 'EFFECT = "write"\ndef pay() -> int:\n    return 1\n';
    const workflow_id = await here.workflow({ tools: [tool], agent: { approve_effects: ['write'] } });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
    const alice = await follow(context, here.people.alice.token);
    const waits = () => alice.seen.filter(({ kind }) => kind === 'inbox');
    here.model.script(asks({ name, args: {} }), says('Paid.'));
    const id = await here.prompt(workflow_id);
    await until('the wait is reported', async () => waits().length === 1);
    const [item] = (await here.alice.ok(here.alice.get(`/api/inbox?task_id=${id}`))) as unknown as { call_id: string }[];
    await here.alice.ok(here.alice.post(`/api/tasks/${id}/approvals/${item?.call_id}`, { decision: 'approve' }));
    await here.ended(id);
    await until('the decision is reported', async () => waits().length === 2);
    expect(waits()).toEqual([
      { kind: 'inbox', id, workflow_id },
      { kind: 'inbox', id, workflow_id },
    ]);
  });

  it('reports records that everybody reads to everybody, and never their content', async (context) => {
    const [alice, bob] = [await follow(context, here.people.alice.token), await follow(context, here.people.bob.token)];
    const { id } = await here.alice.ok(
      here.alice.post('/api/skills', { name: here.unique('skill'), instructions: 'Secret.' }),
      201,
    );
    const of_skill = { kind: 'skills', id };
    await until('both learn of it', async () => alice.seen.length > 0 && bob.seen.length > 0);
    expect([alice.seen, bob.seen]).toEqual([[of_skill], [of_skill]]);
  });

  it('reports no request that is refused', async (context) => {
    const bob = await follow(context, here.people.bob.token);
    const agent_id = await here.agent();
    expect((await here.bob.put(`/api/agents/${agent_id}`, { description: 'Mine' })).status).toBe(403);
    expect((await here.bob.post('/api/datasets', { name: 7 })).status).toBe(422);
    const dataset_id = await fence(bob);
    expect(bob.seen).toEqual([
      { kind: 'agents', id: agent_id },
      { kind: 'datasets', id: dataset_id },
    ]);
  });

  it('follows the owner of a service key, and ends with the key', async (context) => {
    const key = { name: here.unique('key'), role: 'viewer' };
    const { id, key: token } = await here.bob.ok(here.bob.post('/api/keys', key), 201);
    const program = await follow(context, token);
    const dataset_id = await fence(program);
    expect(program.seen).toEqual([{ kind: 'datasets', id: dataset_id }]);
    await here.bob.ok(here.bob.del(`/api/keys/${id}`));
    await program.ended;
    await expect(followChanges(here.url, token)).rejects.toThrow('answered 401');
  });

  it('needs a sign-in', async () => {
    expect((await here.anonymous.get('/api/changes')).status).toBe(401);
  });
});

it('reports the results of an evaluation while its items are graded', async (context) => {
  const workflow_id = await here.workflow();
  const dataset = await here.alice.ok(here.alice.post('/api/datasets', { name: here.unique('dataset') }), 201);
  await here.alice.ok(here.alice.post(`/api/datasets/${dataset.id}/items`, { prompt: 'One?', expected: 'Two' }), 201);
  const alice = await follow(context, here.people.alice.token);
  here.model.script(says('Two'));
  const graders = [{ type: 'exact' }];
  const begun = await here.alice.ok(here.alice.post(`/api/datasets/${dataset.id}/runs`, { workflow_id, graders }), 201);
  const read = () => here.alice.ok(here.alice.get(`/api/datasets/${dataset.id}/runs/${begun.id}`));
  await until('it has ended', async () => (await read()).status === 'completed');
  await until('its end is reported', async () => alice.seen.some(({ kind, id }) => kind === 'datasets' && id === null));
});
