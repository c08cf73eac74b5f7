import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunSpan, StepRequest } from '../../src/contracts/run-inspection.ts';
import type { TaskDetail, TaskStep } from '../../src/contracts/tasks.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, type ModelRequest, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    """Adds."""\n    return a + b\n';

const read = async <T>(path: string) => (await here.alice.ok(here.alice.get(`/api/tasks/${path}`))) as unknown as T;
const task = (id: string) => read<TaskDetail>(`${id}?include=`);
const timeline = (id: string) => read<RunSpan[]>(`${id}/timeline`);
const request = (id: string, step: number) => read<StepRequest>(`${id}/steps/${step}/request`);
const waits = (id: string) => until('the wait', async () => (await task(id)).status === 'waiting');

/** A workflow, and the names of its tools. */
async function made(options: Parameters<TestInstallation['workflow']>[0]) {
  const workflow_id = await here.workflow(options);
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids, provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const names: string[] = [];
  for (const id of custom_tool_ids) names.push((await here.alice.ok(here.alice.get(`/api/custom-tools/${id}`))).name);
  return { workflow_id, agent_id, provider_id, name: names[0] as string };
}

/** The request as the model received it, from what the API says about it. */
const sentAs = ({ instructions, messages, tools, parameters, model }: StepRequest) => ({
  ...parameters,
  model,
  messages: [
    ...(instructions ? [{ role: 'system', content: instructions }] : []),
    ...messages.map(({ role, content, tool_calls, call_id }) => ({
      role,
      content: role === 'assistant' ? content || null : content,
      ...(tool_calls?.length && {
        tool_calls: tool_calls.map(({ call_id: id, name, arguments: args }) => ({
          id,
          type: 'function',
          function: { name, arguments: args },
        })),
      }),
      ...(call_id && { tool_call_id: call_id }),
    })),
  ],
  ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
});

const received = ({ authorization: _, ...body }: ModelRequest) => body;

describe('what the model saw', () => {
  it('is at each step the request that the model received', async () => {
    const skill = await here.alice.ok(here.alice.post('/api/skills', { name: 'Sums', instructions: 'Add carefully.' }));
    const { workflow_id, agent_id, name } = await made({
      tools: [ADD],
      workflow: { skill_ids: [skill.id], max_turns: 2, reasoning_effort: 'low', output_format: 'json' },
    });
    await here.alice.ok(here.alice.post('/api/memories', { agent_id, scope: 'agent', key: 'colour', value: 'blue' }));
    const { id: source_id } = await here.alice.ok(here.alice.post('/api/knowledge-sources', { name: 'Sum handbook' }));
    await here.alice.ok(
      here.alice.post('/api/knowledge-items', { source_id, name: 'Sums', content: 'The sum of two numbers is their total.' }),
    );
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { knowledge_source_ids: [source_id] }));
    const sum = { name, args: { a: 1, b: 2 } };
    const from = here.model.requests.length;
    here.model.script(asks(sum), fails(503), asks(sum), asks(sum), asks(sum), says('{"sum": 3}'));
    const id = await here.prompt(workflow_id, 'What is the sum of these numbers?');
    await here.ended(id);
    const sent = here.model.requests.slice(from).map(received);
    // The second attempt of step 2 received what the first one had received.
    sent.splice(1, 1);
    const requests = await Promise.all(sent.map((_, index) => request(id, index + 1)));
    expect(requests.map(sentAs)).toEqual(sent);
    expect(requests[0]).toMatchObject({
      system_prompt: 'You are a helpful assistant.',
      skills: [{ name: 'Sums', instructions: 'Add carefully.' }],
      parameters: { reasoning_effort: 'low', stream: true },
      not_rebuilt: [],
    });
    expect(requests[0]?.messages.map(({ kind }) => kind)).toEqual(['memories', 'knowledge', 'prompt']);
    expect(new Set(requests.flatMap(({ messages }) => messages.map(({ kind }) => kind)))).toContain('denial');
    expect(requests.at(-1)?.tools).toEqual([]);
  });

  it('has a summary in the place of older messages, from the step that made it', async () => {
    const { workflow_id, provider_id, name } = await made({
      tools: ['EFFECT = "write"\ndef note(text: str) -> str:\n    return "kept"\n'],
      workflow: { max_turns: 50 },
    });
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { context_window: 1_000 }));
    let rounds = 0;
    const from = here.model.requests.length;
    const isSummary = ({ messages }: ModelRequest) => /keep the notes/.test(String(messages[0]?.content));
    here.model.always((response, body) => {
      const text = `${rounds + 1} `.repeat(400);
      const answer = isSummary(body) ? says(`Notes ${rounds}.`) : ++rounds > 7 ? says('Done.') : asks({ name, args: { text } });
      return answer(response, body);
    });
    const id = await here.prompt(workflow_id);
    await here.ended(id);
    const sent = here.model.requests.slice(from).map(received);
    expect(sent.some(isSummary)).toBe(true);
    const asked = sent.filter((body) => !isSummary(body));
    const requests = await Promise.all(asked.map((_, index) => request(id, index + 1)));
    expect(requests.map(sentAs)).toEqual(asked);
  });

  it('holds no secret, and states what could not be rebuilt', async () => {
    const value = 'a-very-secret-value-of-alice';
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'shown-key', value }));
    const source = `ENV = {"KEY": "a key"}\nEFFECT = "read"\nimport os\ndef show() -> str:\n    return os.environ["KEY"]\n`;
    const { workflow_id, agent_id, name } = await made({ tools: [source] });
    const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const mapping = { env_mapping: { KEY: 'shown-key' } };
    await here.alice.ok(here.alice.put(`/api/custom-tools/${custom_tool_ids[0]}/env-mapping`, mapping));
    await here.alice.ok(
      here.alice.put(`/api/agents/${agent_id}`, { builtin_tools: ['manage_todo_list'], system_prompt: `Use ${value}.` }),
    );
    here.model.script(asks({ name }), says('Shown.'));
    const id = await here.prompt(workflow_id, `Show ${value}.`);
    await here.ended(id);
    const seen = await request(id, 2);
    expect(JSON.stringify(seen)).not.toContain(value);
    expect(seen.messages).toHaveLength(3);
    expect(seen.not_rebuilt).toEqual([expect.stringContaining('Built-in tools')]);
  });

  it('can be read while the step is in progress', async () => {
    const { workflow_id } = await made({});
    here.model.script(hangs('Half'));
    const id = await here.prompt(workflow_id, 'Talk.');
    await until('the step', async () => (await task(id)).steps === 1);
    expect((await request(id, 1)).messages).toMatchObject([{ kind: 'prompt', content: 'Talk.' }]);
    await here.alice.ok(here.alice.post(`/api/tasks/${id}/stop`));
    await here.ended(id);
  });

  it('is unknown for a step that the run has not reached', async () => {
    const { workflow_id } = await made({});
    here.model.script(says('Done.'));
    const id = await here.prompt(workflow_id);
    await here.ended(id);
    for (const path of ['steps/2', 'steps/2/request', 'steps/0/request', 'steps/first'])
      expect((await here.alice.get(`/api/tasks/${id}/${path}`)).status).toBe(404);
    const { detail } = (await here.alice.get(`/api/tasks/${id}/steps/2/request`)).body;
    expect(detail).toBe('This run has no step 2; it has reached step 1');
    expect(await read<TaskStep>(`${id}/steps/1`)).toEqual((await read<TaskStep[]>(`${id}/steps`))[0]);
  });
});

describe('the timeline of a run', () => {
  it('has its steps, calls, retries and waits', async () => {
    const { workflow_id, agent_id, name } = await made({ tools: [ADD] });
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(fails(503), asks({ name, args: { a: 1, b: 2 } }), says('Three.'));
    const id = await here.prompt(workflow_id);
    await waits(id);
    const open = await timeline(id);
    expect(open.map(({ id: span, kind, status }) => [span.replace(/\..*/, ''), kind, status])).toEqual([
      ['1', 'model', 'completed'],
      ['1', 'retry', 'completed'],
      ['1-1', 'tool', 'waiting'],
      ['1-1', 'wait', 'waiting'],
    ]);
    await here.alice.ok(here.alice.post(`/api/tasks/${id}/approvals/1-1`, { decision: 'approve' }));
    await here.ended(id);
    const spans = await timeline(id);
    expect(spans.map(({ kind, parent, name: of }) => [kind, parent, of])).toEqual([
      ['model', null, 'scripted'],
      ['retry', '1', 'model_error'],
      ['tool', '1', name],
      ['wait', '1-1', 'approval'],
      ['model', null, 'scripted'],
    ]);
    expect(spans.every(({ start, end, status }) => start && end && status === 'completed')).toBe(true);
  });

  it('shows the last step of a run that failed as failed', async () => {
    const { workflow_id } = await made({});
    here.model.script(fails(401));
    const id = await here.prompt(workflow_id);
    const { completed_at } = await here.ended(id);
    expect(await timeline(id)).toMatchObject([{ kind: 'model', status: 'failed', end: completed_at }]);
  });
});

describe('the figures of a run', () => {
  it('separate working from waiting, and have the budget as it was raised', async () => {
    const { workflow_id } = await made({ workflow: { budget: { max_tokens: 1 } } });
    here.model.script(says('Paid for.'));
    const id = await here.prompt(workflow_id);
    await waits(id);
    expect(await task(id)).toMatchObject({ budget: { max_tokens: 1, on_exhausted: 'wait' } });
    await until('a wait', async () => ((await task(id)).waiting_seconds ?? 0) > 0.2);
    await here.alice.ok(here.alice.post(`/api/tasks/${id}/budget`, { max_tokens: 100_000 }));
    await here.ended(id);
    const { waiting_seconds, working_seconds, elapsed_seconds, budget } = await task(id);
    expect(waiting_seconds).toBeGreaterThan(0.2);
    expect(waiting_seconds! + working_seconds!).toBeCloseTo(elapsed_seconds!, 5);
    expect(budget).toMatchObject({ max_tokens: 100_000 });
  });

  it('say whether its model has a price', async () => {
    const { workflow_id, provider_id } = await made({});
    here.model.script(says('For nothing.'));
    const id = await here.prompt(workflow_id);
    await here.ended(id);
    expect(await task(id)).toMatchObject({ priced: false, usage: { cost: null }, waiting_seconds: 0, budget: null, forks: [] });
    const price_table = { scripted: { input: 1, output: 1 } };
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { price_table }));
    here.model.script(says('Priced.'));
    const priced = await here.prompt(workflow_id);
    await here.ended(priced);
    expect(await task(priced)).toMatchObject({ priced: true });
  });

  it('list the runs that were forked from it, and nothing is started before it starts', async () => {
    const { workflow_id } = await made({});
    here.model.script(says('Done.'), hangs('On and on'));
    const id = await here.prompt(workflow_id);
    await here.ended(id);
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${id}/fork`, { from_step: 1 }), 201);
    const queued = await here.prompt(workflow_id);
    expect((await task(id)).forks).toMatchObject([{ task_id: fork.task_id, step: 1 }]);
    expect(await task(queued)).toMatchObject({ waiting_seconds: null, working_seconds: null });
    expect(await timeline(queued)).toEqual([]);
    await here.alice.ok(here.alice.post(`/api/tasks/${queued}/stop`));
    await here.alice.ok(here.alice.post(`/api/tasks/${fork.task_id}/stop`));
    await here.ended(fork.task_id);
  });
});
