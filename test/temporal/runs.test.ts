import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rebuildTexts } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, breaksOff, fails, hangs, says, sends } from '../support/peers/model-server.ts';
import { resultsOf } from '../support/runs/run-facts.ts';
import { spentOnSteps } from '../support/runs/spent.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

/** What the scripted model reports of an answer, at two dollars a token. */
const SPENT = { total_in: 10, total_out: 5, cache_read: 0, cache_write: 0, cost: 30 };

async function paidWorkflow(): Promise<string> {
  const values = { name: `paid ${here.model.requests.length}`, provider_type: 'openai_compatible', base_url: here.model.url };
  const price_table = { '*': { input: 2_000_000, output: 2_000_000 } };
  const { id } = await here.alice.ok(here.alice.post('/api/providers', { ...values, default_model: 'm', price_table }));
  return here.workflow({ agent: { provider_id: id } });
}

/** The name under which the installation stored the only tool of an agent. */
const toolOf = async (workflow_id: string) => {
  const workflow = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const agent = await here.alice.ok(here.alice.get(`/api/agents/${workflow.agent_id}`));
  return (await here.alice.ok(here.alice.get(`/api/custom-tools/${agent.custom_tool_ids[0]}`))).name as string;
};

describe('a run', () => {
  it('calls the model and a Python tool and leaves its answer, transcript, usage and status', async () => {
    const workflow_id = await here.workflow({ tools: [ADD] });
    const add = await toolOf(workflow_id);
    here.model.script(asks({ name: add, args: { a: 17, b: 25 } }), says('The sum is 42.'));
    const task_id = await here.prompt(workflow_id, 'What is 17 + 25?');
    const task = await here.ended(task_id);
    expect(task).toMatchObject({
      status: 'completed',
      response: 'The sum is 42.',
      turns: 1,
      steps: 2,
      error: null,
      turn_limit_reached: false,
    });
    expect(task.usage).toMatchObject({ total_in: 20, total_out: 10 });
    const workflow = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    expect(workflow).toMatchObject({ status: 'completed', last_task_status: 'completed', task_count: 1, current_turn: 1 });
    expect(workflow.messages.map(({ role, content }: { role: string; content: string }) => [role, content])).toEqual([
      ['user', 'What is 17 + 25?'],
      ['assistant', ''],
      ['tool', '{"result": 42}'],
      ['assistant', 'The sum is 42.'],
    ]);
    expect(workflow.logs.map(({ event }: { event: string }) => event)).toEqual(
      expect.arrayContaining(['prompt_received', 'run_started', 'model_call', 'tool_call', 'tool_result', 'completed']),
    );
  });

  it('streams text that, put together, is the stored message, and ends after the terminal status', async () => {
    const workflow_id = await here.workflow();
    here.model.script(says('One two three four five six seven.', { pause_ms: 5 }));
    const task_id = await here.prompt(workflow_id);
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
    expect(rebuildTexts(events)).toEqual({ texts: ['One two three four five six seven.'], unfinished: '' });
    expect(events.at(-1)).toMatchObject({ type: 'status', data: { status: 'completed' } });
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    const again = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      headers: { 'last-event-id': String(ids[2]) },
    });
    expect(again.map(({ id }) => id)).toEqual(ids.slice(3));
  });

  it('runs the calls of one round in parallel', async () => {
    const MEET = `
import os, time
def meet(me: str, other: str) -> str:
    os.chdir(os.environ["PERDURA_WORKSPACE"])
    open(me, "w").close()
    while not os.path.exists(other): time.sleep(0.02)
    return me + " met " + other
`;
    const workflow_id = await here.workflow({ tools: [MEET] });
    const name = await toolOf(workflow_id);
    here.model.script(asks({ name, args: { me: 'a', other: 'b' } }, { name, args: { me: 'b', other: 'a' } }), says('done'));
    await here.ended(await here.prompt(workflow_id));
    const { messages } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const results = messages
      .filter(({ role }: { role: string }) => role === 'tool')
      .map(({ content }: { content: string }) => JSON.parse(content).result);
    expect(results).toEqual(['a met b', 'b met a']);
  });

  it('denies calls beyond max_turns, reminds of the goal past half of them, and asks for an answer without tools at last', async () => {
    const workflow_id = await here.workflow({ tools: [ADD], workflow: { max_turns: 1 } });
    const add = await toolOf(workflow_id);
    const ask = asks({ name: add, args: { a: 1, b: 1 } });
    const before = here.model.requests.length;
    here.model.script(ask, ask, ask, says('That is all.'));
    const task = await here.ended(await here.prompt(workflow_id, 'Never stop adding.'));
    expect(task).toMatchObject({ status: 'completed', response: 'That is all.', turns: 1, turn_limit_reached: true });
    const sent = here.model.requests.slice(before);
    expect(sent.map(({ tools }) => tools?.length ?? 0)).toEqual([1, 1, 1, 0]);
    expect(sent[1]?.messages.at(-1)?.content).toContain('Never stop adding.');
    expect(sent[2]?.messages.filter(({ role }) => role === 'tool').at(-1)?.content).toContain('Denied');
  });

  it('fails if the model calls a tool again, without a word, when it is asked for its answer without tools', async () => {
    const workflow_id = await here.workflow({ tools: [ADD], workflow: { max_turns: 1 } });
    const ask = asks({ name: await toolOf(workflow_id), args: { a: 1, b: 1 } });
    here.model.script(ask, ask, ask, ask);
    const task = await here.ended(await here.prompt(workflow_id, 'Never stop adding.'));
    expect(task).toMatchObject({
      status: 'failed',
      error_code: 'empty_answer',
      response: null,
      turns: 1,
      turn_limit_reached: true,
    });
    expect(task.error).toMatch(/max_turns \(1\).*raise/);
    // What the useless answer cost is counted.
    expect(task.usage).toMatchObject({ total_in: 40, total_out: 20 });
  });

  it('keeps the text of a last answer that also calls a tool', async () => {
    const workflow_id = await here.workflow({ tools: [ADD], workflow: { max_turns: 1 } });
    const name = await toolOf(workflow_id);
    const ask = asks({ name, args: { a: 1, b: 1 } });
    here.model.script(ask, ask, ask, asks({ name, text: 'As far as I came: 2.', args: { a: 1, b: 1 } }));
    const task = await here.ended(await here.prompt(workflow_id));
    expect(task).toMatchObject({ status: 'completed', response: 'As far as I came: 2.', turn_limit_reached: true });
  });

  // Here and in the next ones each run waits before it asks again, all at the same time.
  it.concurrent('retries a recoverable error twice, announcing it, and drops unfinished text', async () => {
    const workflow_id = await here.workflow();
    here.model.scriptPrompt('Repeat.', fails(500), breaksOff('Half a sen'), says('Whole.'));
    const task_id = await here.prompt(workflow_id, 'Repeat.');
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
    expect(rebuildTexts(events)).toEqual({ texts: ['Whole.'], unfinished: '' });
    const logs = events.filter(({ type }) => type === 'log').map(({ data }) => data.event);
    expect(logs.filter((event) => event === 'retry')).toHaveLength(2);
    expect(logs.filter((event) => event === 'attempt_reset')).toHaveLength(2);
  });

  it.concurrent.each([
    ['a provider that stays down', [fails(503), fails(503), fails(503)], 'model_error'],
    ['a refused key', [fails(401, { message: 'bad key' })], 'model_unauthorized'],
    ['an unknown model', [fails(404, { message: 'no such model' })], 'unknown_model'],
    ['an empty answer', [says('')], 'empty_answer'],
    [
      'garbage',
      [sends('data: {"choices": [{]}\n\n'), sends('data: nonsense\n\n'), sends('data: nonsense\n\n')],
      'bad_model_response',
    ],
    ['a content filter', [says('I', { finish: 'content_filter' })], 'content_filter'],
  ])('fails clearly on %s', async (what, answers, error_code) => {
    const workflow_id = await here.workflow();
    here.model.scriptPrompt(what, ...answers);
    const task = await here.ended(await here.prompt(workflow_id, what));
    expect(task).toMatchObject({ status: 'failed', error_code });
    expect(task.error).toBeTruthy();
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['that is empty', says(''), 'empty_answer'],
    ['that ends before it begins', says('', { finish: 'length' }), 'model_length'],
    ['with a tool name too long', asks({ name: 'x'.repeat(300) }), 'tool_name_too_long'],
    ['that a content filter stops', says('I', { finish: 'content_filter' }), 'content_filter'],
  ])('counts what an answer cost %s', async (_which, answer, error_code) => {
    const workflow_id = await paidWorkflow();
    here.model.script(answer);
    const task_id = await here.prompt(workflow_id);
    const task = await here.ended(task_id);
    expect(task).toMatchObject({ status: 'failed', error_code, usage: SPENT });
    expect(await spentOnSteps(here, task_id)).toEqual(SPENT);
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
    expect(events.find(({ type }) => type === 'usage')?.data).toMatchObject(SPENT);
  });

  it('counts an answer that broke off after its usage, and the one after it', async () => {
    const workflow_id = await paidWorkflow();
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    const half = { model: 'scripted', choices: [{ index: 0, delta: { content: 'Half' }, finish_reason: null }], usage };
    here.model.script(sends(`data: ${JSON.stringify(half)}\n\n`), says('Whole.'));
    const task_id = await here.prompt(workflow_id);
    const twice = Object.fromEntries(Object.entries(SPENT).map(([name, value]) => [name, 2 * value]));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Whole.', usage: twice });
    expect(await spentOnSteps(here, task_id)).toEqual(twice);
  });

  it('honours Retry-After', async () => {
    const workflow_id = await here.workflow();
    here.model.script(fails(429, { headers: { 'retry-after-ms': '50' } }), says('Back.'));
    const task_id = await here.prompt(workflow_id);
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
    expect(events.find(({ data }) => data.event === 'rate_limited')?.data).toMatchObject({ wait_ms: 50 });
  });

  it('answers the model when it names an unknown tool or sends arguments that are not JSON', async () => {
    const workflow_id = await here.workflow({ tools: [ADD] });
    const add = await toolOf(workflow_id);
    here.model.script(asks({ name: 'nothing' }, { name: add, args: '{"a": 1,' }), says('Sorry.'));
    const before = here.model.requests.length;
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed' });
    const results = here.model.requests[before + 1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(results?.[0]).toContain('no tool named nothing');
    expect(results?.[1]).toContain('not valid JSON');
  });

  it('halts while the model streams: the connection is closed, text so far is kept', async () => {
    const workflow_id = await here.workflow();
    const aborted = here.model.aborted();
    here.model.script(hangs('Let me think'));
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    expect((await here.alice.post(`/api/workflows/${workflow_id}/halt`)).body).toEqual({
      status: 'halt_requested',
      workflow_id,
      task_id,
    });
    // The model never ends its answer.
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect(here.model.aborted()).toBe(aborted + 1);
    const { messages } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', kind: 'partial', content: 'Let me think' });
    expect((await here.alice.post(`/api/workflows/${workflow_id}/halt`)).status).toBe(409);
  });

  it('halts while a tool runs', async () => {
    const workflow_id = await here.workflow({
      tools: ['import time\ndef doze() -> str:\n    time.sleep(25)\n    return "by itself"\n'],
    });
    here.model.script(asks({ name: await toolOf(workflow_id) }));
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ data }) => data.event === 'tool_call',
    });
    expect((await here.alice.post(`/api/tasks/${task_id}/stop`)).status).toBe(202);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect(await resultsOf(here, workflow_id)).toEqual([expect.not.stringContaining('by itself')]);
    expect((await here.alice.post(`/api/tasks/${task_id}/stop`)).status).toBe(409);
  });

  it('shows the to-do list as progress', async () => {
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    const todoList = [
      { id: 1, title: 'Read', status: 'completed' },
      { id: 2, title: 'Write', status: 'in-progress' },
      { id: 3, title: 'Rest', status: 'not-started' },
    ];
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList } }), says('ok'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const progress = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/progress`));
    expect(progress).toMatchObject({ current_step: 'Write', percent_complete: 33 });
    expect(progress.todos[0]).toEqual({ id: '1', title: 'Read', status: 'done' });
  });

  it("uses the default runtime with the caller's token, and leaves custom tools out there", async () => {
    const workflow_id = await here.workflow({ tools: [ADD], agent: { provider_id: null, builtin_tools: ['manage_todo_list'] } });
    here.model.script(says('hello'));
    const before = here.model.requests.length;
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed' });
    const sent = here.model.requests[before];
    expect(sent).toMatchObject({ model: 'default-model', authorization: 'Bearer token-of-alice' });
    expect(sent?.tools?.map(({ function: { name } }) => name)).toEqual(['manage_todo_list']);
  });

  it('parses a JSON answer, and wraps other text', async () => {
    const workflow_id = await here.workflow({ workflow: { output_format: 'json' } });
    here.model.script(says('```json\n{"sum": 42}\n```'), says('just text'));
    expect((await here.ended(await here.prompt(workflow_id))).response).toEqual({ sum: 42 });
    expect((await here.ended(await here.prompt(workflow_id))).response).toEqual({ response: 'just text' });
  });
});

describe('a lane', () => {
  it('runs one task at a time, in order', async () => {
    const workflow_id = await here.workflow();
    const all_sent = Promise.withResolvers<void>();
    here.model.script(says('first', { until: all_sent.promise }), says('second'), says('third'));
    const tasks = [await here.prompt(workflow_id, '1'), await here.prompt(workflow_id, '2'), await here.prompt(workflow_id, '3')];
    expect((await here.alice.get(`/api/tasks/${tasks[1]}`)).body.status).toBe('pending');
    all_sent.resolve();
    const ended = await Promise.all(tasks.map((id) => here.ended(id)));
    expect(ended.map(({ response }) => response)).toEqual(['first', 'second', 'third']);
  });

  it('rejects or interrupts if on_busy asks for it', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('busy'), says('instead'));
    const first = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${first}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    const refused = await here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x', on_busy: 'reject' });
    expect([refused.status, refused.body.code]).toEqual([409, 'workflow_busy']);
    const second = await here.prompt(workflow_id, 'now', { on_busy: 'interrupt' });
    expect(await here.ended(second)).toMatchObject({ status: 'completed', response: 'instead' });
    expect(await here.ended(first)).toMatchObject({ status: 'halted' });
  });

  it('halts a queued task without touching the one before it', async () => {
    const workflow_id = await here.workflow();
    const halted = Promise.withResolvers<void>();
    here.model.script(says('slow answer here', { until: halted.promise }));
    const [first, second] = [await here.prompt(workflow_id), await here.prompt(workflow_id)];
    expect((await here.alice.post(`/api/tasks/${second}/stop`)).status).toBe(202);
    expect(await here.ended(second)).toMatchObject({ status: 'halted' });
    halted.resolve();
    expect(await here.ended(first)).toMatchObject({ status: 'completed' });
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).toMatchObject({ status: 'completed' });
  });
});
