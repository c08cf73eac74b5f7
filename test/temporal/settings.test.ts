import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, asks, type ModelRequest, says } from '../support/peers/model-server.ts';
import { spentOnSteps } from '../support/runs/spent.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
beforeEach(() => here.model.always(says('done')));
afterAll(() => here?.stop());

let made = 0;
async function provider(values: object): Promise<string> {
  const name = `special ${++made}`;
  const body = { name, provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted', ...values };
  return (await here.alice.ok(here.alice.post('/api/providers', body))).id;
}
const workflowOf = (id: string) => here.alice.ok(here.alice.get(`/api/workflows/${id}`));
const taskOf = (id: string) => here.alice.ok(here.alice.get(`/api/tasks/${id}`));
const waiting = (task_id: string) => until('the wait', async () => (await taskOf(task_id)).status === 'waiting');
const eventsOf = async (id: string) => ((await workflowOf(id)).logs as any[]).map(({ event }) => event);

/** Calls the first tool `times` times, one a round, then answers. */
const callsTool =
  (times: number): Answer =>
  (response, request) => {
    const done = request.messages.filter(({ role }) => role === 'tool').length;
    const name = request.tools?.[0]?.function.name ?? '';
    return (done < times ? asks({ name }) : says('done'))(response, request);
  };

it('passes reasoning_effort on, the prompt’s own before the workflow’s', async () => {
  const id = await here.workflow({ workflow: { reasoning_effort: 'low' } });
  await here.ended(await here.prompt(id));
  expect(here.model.requests.at(-1)!.reasoning_effort).toBe('low');
  await here.ended(await here.prompt(id, 'Again.', { reasoning_effort: 'high' }));
  expect(here.model.requests.at(-1)!.reasoning_effort).toBe('high');
});

it('sends Claude temperature alone, and reports that top_p is left out', async () => {
  const by_provider = { provider_id: await provider({ default_model: 'claude-scripted' }) };
  const start = async (workflow: object, agent: object = by_provider) => {
    const id = await here.workflow({ agent, workflow });
    await here.ended(await here.prompt(id));
    const reported = (await workflowOf(id)).logs.filter(({ event }: { event: string }) => event === 'setting_left_out');
    const { temperature, top_p } = here.model.requests.at(-1)! as { temperature?: number; top_p?: number };
    return { sent: [temperature, top_p], reported: reported.map(({ setting }: { setting: string }) => setting) };
  };
  expect(await start({ temperature: 0.2, top_p: 0.3 })).toEqual({ sent: [0.2, undefined], reported: ['top_p'] });
  expect(await start({ top_p: 0.3 })).toEqual({ sent: [undefined, 0.3], reported: [] });
  const by_default = { provider_id: null, model: 'claude-scripted' };
  expect((await start({ temperature: 0.2, top_p: 0.3 }, by_default)).reported).toEqual(['top_p']);
});

const PEOPLE = `
def people() -> list:
    """Lists people."""
    return [{"name": "Ada", "age": 36, "note": "a\\tb"}, {"name": "Grace", "age": 85, "note": ""}]
`;

it('shows the model arrays of flat objects as TSV, and keeps the JSON', async () => {
  here.model.always(callsTool(1));
  const shown = async (tsv_tool_results: boolean) => {
    const id = await here.workflow({ tools: [PEOPLE], workflow: { tsv_tool_results } });
    await here.ended(await here.prompt(id));
    const stored = (await workflowOf(id)).messages.find(({ kind }: { kind: string }) => kind === 'result').content;
    return { sent: here.model.requests.at(-1)!.messages.at(-1)!.content, stored };
  };
  const { sent, stored } = await shown(true);
  expect(sent).toBe('name\tage\tnote\nAda\t36\ta\\tb\nGrace\t85\t""');
  expect(JSON.parse(stored).result[0].name).toBe('Ada');
  const plain = await shown(false);
  expect(plain.sent).toBe(plain.stored);
});

it('compresses instructions for caveman and asks for a terse answer, code left as it is', async () => {
  const system_prompt = 'You are a very helpful assistant. Please use `the  very  tool` in order to  answer the question.';
  const id = await here.workflow({ agent: { system_prompt }, workflow: { caveman: true } });
  await here.ended(await here.prompt(id));
  const sent = here.model.requests.at(-1)!.messages[0]!.content!;
  expect(sent).toContain('You are helpful assistant. use `the  very  tool` to answer question.');
  expect(sent).toContain('Answer terse');
});

const LONG = `
def page() -> str:
    """Reads a page."""
    return "word " * 300
`;
const isSummary = ({ messages }: ModelRequest) => messages[0]!.content!.startsWith('You keep the notes');

/** Every result stands after the call it answers. */
function expectWhole({ messages }: ModelRequest): void {
  const open = new Set<string>();
  for (const { role, tool_calls, tool_call_id } of messages) {
    for (const { id } of tool_calls ?? []) open.add(id);
    if (role === 'tool') expect(open.delete(tool_call_id!), `${tool_call_id} has its call`).toBe(true);
  }
  expect([...open]).toEqual([]);
}

it('compacts older rounds when the window fills, whole rounds at a time, and continues from the summary', async () => {
  let rounds = 0;
  here.model.always((response, request) => {
    if (isSummary(request)) return says('NOTES: six pages.')(response, request);
    rounds += 1;
    return (rounds <= 8 ? asks({ name: request.tools![0]!.function.name }) : says('done'))(response, request);
  });
  const first = here.model.requests.length;
  const provider_id = await provider({ context_window: 2_500 });
  const id = await here.workflow({ tools: [LONG], agent: { provider_id }, workflow: { max_turns: 20 } });
  const task = await here.ended(await here.prompt(id, 'Read the pages.'));
  expect(task.status).toBe('completed');
  const requests = here.model.requests.slice(first);
  const summaries = requests.filter(isSummary);
  expect(summaries.length).toBeGreaterThan(1);
  expect(summaries[0]!.tools).toBeUndefined();
  for (const request of requests) expectWhole(request);
  const last = requests.at(-1)!.messages;
  expect(last[1]).toMatchObject({ role: 'user', content: 'Read the pages.' });
  expect(last[2]!.content).toContain('NOTES: six pages.');
  expect(last.length).toBeLessThan(10);
  const { messages, logs } = await workflowOf(id);
  expect(messages.filter(({ kind }: any) => kind === 'result')).toHaveLength(8);
  expect(messages.filter(({ kind }: any) => kind === 'summary')).toHaveLength(summaries.length);
  expect(logs.filter(({ event }: any) => event === 'compaction')).toHaveLength(summaries.length);
  expect(task.usage.total_in).toBe(requests.length * 10);
  expect(await spentOnSteps(here, task.id)).toMatchObject({ total_in: task.usage.total_in, total_out: task.usage.total_out });
});

it('fails if the model calls a tool instead of writing the summary, and replaces no message by an empty one', async () => {
  here.model.always((response, request) => asks({ name: request.tools?.[0]?.function.name ?? 'page' })(response, request));
  const provider_id = await provider({ context_window: 2_500 });
  const id = await here.workflow({ tools: [LONG], agent: { provider_id }, workflow: { max_turns: 20 } });
  const task = await here.ended(await here.prompt(id, 'Read the pages.'));
  expect(task).toMatchObject({ status: 'failed', error_code: 'empty_answer' });
  expect(task.error).toContain('summary');
  const { messages } = await workflowOf(id);
  expect(messages.filter(({ kind }: any) => kind === 'summary')).toEqual([]);
});

it('fails clearly when the window is full and infinite_session is off', async () => {
  here.model.always(callsTool(20));
  const provider_id = await provider({ context_window: 2_500 });
  const workflow = { max_turns: 20, infinite_session: false };
  const task = await here.ended(await here.prompt(await here.workflow({ tools: [LONG], agent: { provider_id }, workflow })));
  expect(task).toMatchObject({ status: 'failed', error_code: 'context_window_full' });
  expect(task.error).toContain("of 2500 tokens (the provider's context_window), and infinite_session is off");
});

const OVERFLOWS: [string, (tokens: number) => object, number | undefined][] = [
  [
    'vLLM',
    (tokens) => ({
      object: 'error',
      message: `This model's maximum context length is 2500 tokens. However, you requested ${tokens} tokens.`,
      ...{ type: 'BadRequestError', param: null, code: 400 },
    }),
    2_500,
  ],
  [
    'llama.cpp',
    () => ({
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
        n_ctx: 2_500,
      },
    }),
    2_500,
  ],
  ['Bedrock', () => ({ message: 'Input is too long for requested model.' }), undefined],
];

/** Refuses requests of more than 2,500 tokens, which it did not announce. */
const withSmallWindow =
  (answer: Answer, refusal: (tokens: number) => object): Answer =>
  (response, request) => {
    const tokens = JSON.stringify(request.messages).length / 4;
    if (tokens <= 2_500) return answer(response, request);
    return void response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(refusal(tokens)));
  };

it.each(OVERFLOWS)('compacts once and continues when %s refuses a request as too long', async (_, refusal, context_window) => {
  let rounds = 0;
  const answer: Answer = (response, request) => {
    if (isSummary(request)) return says('NOTES: some pages.')(response, request);
    rounds += 1;
    return (rounds <= 8 ? asks({ name: request.tools![0]!.function.name }) : says('done'))(response, request);
  };
  here.model.always(withSmallWindow(answer, refusal));
  const id = await here.workflow({ tools: [LONG], agent: { provider_id: await provider({}) }, workflow: { max_turns: 20 } });
  const task = await here.ended(await here.prompt(id, 'Read the pages.'));
  expect([task.status, task.error]).toEqual(['completed', null]);
  const { messages, logs } = await workflowOf(id);
  const refused = logs.filter(({ event }: any) => event === 'context_window_full');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0].context_window).toBe(context_window);
  expect(messages.filter(({ kind }: any) => kind === 'summary')).toHaveLength(refused.length);
});

/** Runs until the window is full. Returns the reason. */
async function fillWindow(provider_id: string, named: number): Promise<string> {
  here.model.always(
    withSmallWindow(callsTool(20), () => ({ message: `This model's maximum context length is ${named} tokens.` })),
  );
  const workflow = { max_turns: 20, infinite_session: false };
  const task = await here.ended(await here.prompt(await here.workflow({ tools: [LONG], agent: { provider_id }, workflow })));
  expect(task).toMatchObject({ status: 'failed', error_code: 'context_window_full' });
  return task.error;
}
const findShownWindow = async (provider_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/models?provider_id=${provider_id}`)))[0].context_window;

it('keeps the size that the endpoint named for the provider and the model, and shows it, until base_url is changed', async () => {
  const provider_id = await provider({});
  expect(await findShownWindow(provider_id)).toBeUndefined();
  expect(await fillWindow(provider_id, 1_000)).toContain('maximum context length is 1000 tokens');
  expect(await findShownWindow(provider_id)).toBe(1_000);
  expect(await fillWindow(provider_id, 1_000)).toContain('of 1000 tokens (as the endpoint says;');
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { description: 'changed' }));
  expect(await findShownWindow(provider_id)).toBe(1_000);
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { base_url: `${here.model.url}/other` }));
  expect(await fillWindow(provider_id, 900)).toContain('maximum context length is 900 tokens');
  expect(await findShownWindow(provider_id)).toBe(900);
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { base_url: here.model.url }));
  expect(await findShownWindow(provider_id)).toBeUndefined();
});

it('does not apply a size that a run learns from the endpoint that the provider had when the run began', async () => {
  const provider_id = await provider({});
  here.model.always(async (response) => {
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { base_url: `${here.model.url}/other` }));
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ message: 'maximum context length is 700 tokens' }));
  });
  const refused = await here.ended(await here.prompt(await here.workflow({ agent: { provider_id } })));
  expect(refused).toMatchObject({ status: 'failed', error_code: 'context_window_full' });
  expect(await fillWindow(provider_id, 900)).toContain('maximum context length is 900 tokens');
  const shown = await here.bob.ok(here.bob.get(`/api/models?provider_id=${provider_id}`));
  expect(shown[0]).toMatchObject({ id: 'scripted', context_window: 900 });
});

it('keeps the size that the endpoint lists, until it refuses with another', async () => {
  const provider_id = await provider({});
  here.model.describe({ max_model_len: 1_200 });
  try {
    expect(await findShownWindow(provider_id)).toBe(1_200);
  } finally {
    here.model.describe({});
  }
  expect(await fillWindow(provider_id, 900)).toContain('of 1200 tokens (as the endpoint says;');
  const other = await provider({});
  expect(await fillWindow(other, 900)).toContain('maximum context length is 900 tokens');
  here.model.describe({ max_model_len: 1_200 });
  try {
    expect(await findShownWindow(other)).toBe(900);
  } finally {
    here.model.describe({});
  }
});

it("fails with the endpoint's sentence when it refuses and infinite_session is off", async () => {
  here.model.always(withSmallWindow(callsTool(20), OVERFLOWS[0]![1]));
  const workflow = { max_turns: 20, infinite_session: false };
  const agent = { provider_id: await provider({}) };
  const task = await here.ended(await here.prompt(await here.workflow({ tools: [LONG], agent, workflow })));
  expect(task).toMatchObject({ status: 'failed', error_code: 'context_window_full' });
  expect(task.error).toMatch(/maximum context length is 2500 tokens.*infinite_session is off/);
});

it('waits when the token budget is used up, and continues when it is raised', async () => {
  here.model.always(callsTool(3));
  const budget = { max_tokens: 60, on_exhausted: 'wait' };
  const id = await here.workflow({ tools: [PEOPLE], workflow: { budget } });
  const task_id = await here.prompt(id);
  await waiting(task_id);
  const asked = here.model.requests.length;
  expect((await workflowOf(id)).status).toBe('waiting');
  expect(await eventsOf(id)).toContain('budget_exhausted');
  expect((await here.bob.post(`/api/tasks/${task_id}/budget`, { max_tokens: 1_000 })).status).toBe(403);
  expect((await here.alice.post(`/api/tasks/${task_id}/budget`, { max_tokens: -1 })).status).toBe(422);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/budget`, { max_tokens: 70 }));
  await until('the second thought', async () => (await eventsOf(id)).filter((event) => event === 'budget_exhausted').length > 1);
  expect(here.model.requests.length).toBe(asked);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/budget`, { max_tokens: 100_000 }));
  expect((await here.ended(task_id)).status).toBe('completed');
  expect((await here.alice.post(`/api/tasks/${task_id}/budget`, {})).status).toBe(409);
});

it('continues when the workflow’s budget is raised', async () => {
  const id = await here.workflow({ workflow: { budget: { max_tokens: 5 } } });
  const task_id = await here.prompt(id, 'A prompt that is longer than five tokens are, by far.');
  await waiting(task_id);
  await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { budget: { max_tokens: 10_000 } }));
  expect((await here.ended(task_id)).status).toBe('completed');
});

const LIMITS = { max_tokens: 50_021, max_cost_usd: 53 };
const ON_EXHAUSTED = ['wait', 'halt'] as const;
const OVERSPENT = Object.keys(LIMITS).flatMap((limit) => ON_EXHAUSTED.map((on_exhausted) => [limit, on_exhausted] as const));

it.each(OVERSPENT)('counts the cost of a summary before the call that follows it: %s, %s', async (limit, on_exhausted) => {
  const budget = { [limit]: LIMITS[limit as keyof typeof LIMITS], on_exhausted };
  here.model.always((response, request) => {
    const usage = { prompt_tokens: 61_027, completion_tokens: 103, total_tokens: 61_130 };
    if (isSummary(request)) return says('NOTES: pages.', { usage })(response, request);
    return asks({ name: request.tools![0]!.function.name })(response, request);
  });
  const price_table = { '*': { input: 1_000, output: 1_000 } };
  const agent = { provider_id: await provider({ context_window: 2_500, price_table }) };
  const workflow = { max_turns: 20, budget };
  const id = await here.workflow({ tools: [LONG], agent, workflow });
  const first = here.model.requests.length;
  const task_id = await here.prompt(id, 'Read the pages.');
  await (on_exhausted === 'wait' ? waiting(task_id) : here.ended(task_id));
  const requests = here.model.requests.slice(first);
  // The summary was the last that the model was asked for.
  expect(requests.map(isSummary)).toEqual([...Array(requests.length - 1).fill(false), true]);
  const { status, error_code, usage } = await taskOf(task_id);
  expect([status, error_code]).toEqual(on_exhausted === 'wait' ? ['waiting', null] : ['halted', 'budget_exhausted']);
  expect(usage).toMatchObject({ total_in: 61_027 + 10 * (requests.length - 1), total_out: 103 + 5 * (requests.length - 1) });
  await here.alice.post(`/api/workflows/${id}/halt`);
  await here.ended(task_id);
});

it('halts a run that has cost too much, keeping what it has said', async () => {
  here.model.always(callsTool(3));
  const price_table = { '*': { input: 100_000, output: 0 } };
  const agent = { provider_id: await provider({ price_table }) };
  const budget = { max_cost_usd: 8, on_exhausted: 'halt' };
  const id = await here.workflow({ tools: [PEOPLE], agent, workflow: { budget } });
  const task = await here.ended(await here.prompt(id));
  expect(task).toMatchObject({
    status: 'halted',
    error_code: 'budget_exhausted',
    error: expect.stringContaining('8 US dollars'),
  });
});

it('halts a run that takes too long', async () => {
  // As if the first answer had taken an hour.
  here.model.always(async (response, request) => {
    await here.core.database.pool.query(`UPDATE tasks SET started_at = started_at - interval '1 hour' WHERE workflow_id = $1`, [
      id,
    ]);
    await callsTool(3)(response, request);
  });
  const id = await here.workflow({ tools: [PEOPLE], workflow: { budget: { max_seconds: 600, on_exhausted: 'halt' } } });
  expect(await here.ended(await here.prompt(id))).toMatchObject({ status: 'halted', error_code: 'budget_exhausted', steps: 2 });
});

const READS_VARIABLE = `
import os
ENV = {"API_NAME": "the value to return"}
def variable() -> str:
    """Returns its variable."""
    return os.environ["API_NAME"].upper()
`;

it('gives tools the overriding token, and refuses variables that no tool declares', async () => {
  for (const [name, value] of [
    ['plain', 'ordinary-value'],
    ['special', 'special-value'],
  ])
    await here.alice.ok(here.alice.post('/api/tokens', { name, value }));
  here.model.always(callsTool(1));
  const id = await here.workflow({ tools: [READS_VARIABLE] });
  const [tool_id] = (await here.alice.ok(here.alice.get(`/api/agents/${(await workflowOf(id)).agent_id}`))).custom_tool_ids;
  await here.alice.ok(here.alice.put(`/api/custom-tools/${tool_id}/env-mapping`, { env_mapping: { API_NAME: 'plain' } }));
  const result = async () => {
    await here.ended(await here.prompt(id));
    return here.model.requests.at(-1)!.messages.at(-1)!.content;
  };
  expect(await result()).toContain('ORDINARY-VALUE');
  await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { credential_overrides: { API_NAME: 'special' } }));
  expect(await result()).toContain('SPECIAL-VALUE');
  const refused = await here.alice.put(`/api/workflows/${id}`, { credential_overrides: { PATH: 'special' } });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'credential_overrides.PATH' }] } });
});
