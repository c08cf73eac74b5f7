import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here?.stop());

const NAMES = {
  total_input_tokens: 'total_in',
  total_output_tokens: 'total_out',
  total_cost: 'cost',
  total_premium_requests: 'premium_requests',
};

/** Under both names, and counted. */
function expectUsage(usage: Record<string, number>): void {
  expect(Object.keys(NAMES).map((name) => usage[name])).toEqual(Object.values(NAMES).map((name) => usage[name]));
  expect(usage.total_in).toBeGreaterThan(0);
}

it('lists of tasks and workflows carry what a run used and did, under the names of other clients, too', async () => {
  const { alice, model } = here;
  const usage = { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 };
  model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Done.', { usage }));
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
  await alice.ok(alice.put(`/api/workflows/${workflow_id}`, { reasoning_effort: 'low' }));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  const task = await alice.ok(alice.get(`/api/tasks/${task_id}`));
  for (const path of ['/api/tasks', `/api/tasks/workflow/${workflow_id}`]) {
    const [listed] = (await alice.get(path)).body as unknown as object[];
    expect(listed).toMatchObject({ id: task_id, reasoning_effort: 'low', tool_calls: 1, usage: task.usage });
  }
  expectUsage(task.usage);
  const workflows = (await alice.get('/api/workflows')).body;
  expect(workflows).toMatchObject([{ id: workflow_id, usage: task.usage }]);
  const unused = await alice.ok(alice.post('/api/workflows', { agent_id: workflows[0].agent_id }), 201);
  expect(unused.usage).toMatchObject({ total_in: 0, total_cost: 0, total_premium_requests: 0 });
  const events = await alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
  const reported = events.filter(({ type }) => type === 'usage').map(({ data }) => data);
  expectUsage(reported.at(-1) as Record<string, number>);
});

it('a session memory without a workflow is refused with what to send', async () => {
  const agent = await here.alice.ok(here.alice.post('/api/agents', { name: 'remembers' }), 201);
  const answer = await here.alice.post('/api/memories', { agent_id: agent.id, scope: 'session', key: 'k', value: 'v' });
  expect([answer.status, answer.body.errors]).toEqual([
    422,
    [{ path: 'workflow_id', message: expect.stringContaining('send its id as `workflow_id`') }],
  ]);
});
