import { afterAll, beforeAll, expect, it } from 'vitest';
import { createActivityPorts } from '../../src/main/wiring/runs/index.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ env: { TOOL_ISOLATION: 'none' } });
});
afterAll(() => here.stop());

it('each step of a run sends the key of its provider, and is on record as one use of it', async () => {
  const { id } = await here.alice.ok(here.alice.post('/api/tokens', { name: 'key', value: 'sk-of-the-provider' }));
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'key' }));
  const todo = { name: 'manage_todo_list', args: { todoList: [] } };
  here.model.script(asks(todo), asks(todo), says('Done.'));
  const before = here.model.requests.length;
  const task_id = await here.prompt(workflow_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
  const sent = here.model.requests.slice(before).map(({ authorization }) => authorization);
  expect(sent).toEqual(Array(3).fill('Bearer sk-of-the-provider'));
  const uses = await here.alice.ok(here.alice.get(`/api/tokens/${id}/uses`));
  expect(uses).toMatchObject(Array(3).fill({ task_id, granted: true, resource_kind: 'provider', resource_id: provider_id }));
});

it('an attempt that did not get its step uses no key', async () => {
  const { id } = await here.alice.ok(here.alice.post('/api/tokens', { name: 'unused', value: 'sk-of-the-provider' }));
  const workflow_id = await here.workflow();
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'unused' }));
  here.model.script(says('Done.'));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  const uses = () => here.alice.ok(here.alice.get(`/api/tokens/${id}/uses`));
  expect(await uses()).toHaveLength(1);

  const { ports, unwatch } = await createActivityPorts(here.core, here.driver);
  const run = (await here.core.store.runs.open(task_id, 1))!;
  const lost = Promise.reject(new Error('Another attempt has the step'));
  await expect(ports.openRuntime(run, await ports.definition(run.definition_hash), lost)).rejects.toThrow();
  await unwatch();
  expect(await uses()).toHaveLength(1);
});
