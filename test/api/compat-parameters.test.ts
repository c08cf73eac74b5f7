import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALICE, shareInstallation, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import { refusal } from '../support/peers/openai.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  const client = (apiKey: string) => new OpenAI({ baseURL: `${here.url}/v1`, apiKey });
  alice = client(here.people.alice.token);
  bob = client(here.people.bob.token);
});
afterAll(() => here.stop());

const messages = [{ role: 'user' as const, content: 'x' }];
const tasksOf = (workflow_id: string) => here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`));
const scoresOf = (completion_id: string) =>
  here.alice.ok(here.alice.get(`/api/tasks/${completion_id.replace('chatcmpl-', '')}/scores`));

const UNHONOURED: Record<string, unknown> = {
  tools: [{ type: 'web_search' }],
  tool_choice: 'required',
  response_format: { type: 'grammar' },
  n: 2,
  temperature: 0,
  top_p: 0.5,
  max_tokens: 10,
  max_completion_tokens: 10,
  stop: ['END'],
  logprobs: true,
  metadata: { a: 'b' },
};
const strictly = { headers: { prefer: 'handling=strict' } };

describe('a parameter that a run would not honour, with COMPAT_STRICT', () => {
  let strict: TestInstallation;
  beforeAll(async () => {
    strict = await startTestInstallation({ env: { COMPAT_STRICT: 'true' } });
  });
  afterAll(() => strict.stop());
  const byStrict = () => new OpenAI({ baseURL: `${strict.url}/v1`, apiKey: ALICE });

  it.each(Object.entries(UNHONOURED))('%s is refused by name, and no run starts', async (param, value) => {
    const model = await strict.workflow();
    const refused = await refusal(byStrict().chat.completions.create({ model, messages, [param]: value } as never));
    expect(refused).toMatchObject({ status: 400, code: 'unsupported_value', param, type: 'invalid_request_error' });
    expect(await strict.alice.ok(strict.alice.get(`/api/tasks?workflow_id=${model}`))).toEqual([]);
  });

  it.each(['max_output_tokens', 'max_tool_calls'])('%s of a response is refused', async (param) => {
    const model = await strict.workflow();
    const refused = await refusal(byStrict().responses.create({ model, input: 'x', [param]: 1 } as never));
    expect(refused).toMatchObject({ status: 400, code: 'unsupported_value', param });
  });

  it('is refused if nobody knows it, as by a request that is strict itself', async () => {
    const model = await strict.workflow();
    const unknown = { status: 400, code: 'unknown_parameter', param: 'temprature' };
    expect(await refusal(byStrict().chat.completions.create({ model, messages, temprature: 1 } as never))).toMatchObject(unknown);
    const workflow = await here.workflow();
    const asked = alice.chat.completions.create({ model: workflow, messages, temprature: 1 } as never, strictly);
    expect(await refusal(asked)).toMatchObject(unknown);
    expect(await tasksOf(workflow)).toEqual([]);
  });
});

interface Answered {
  warnings?: { path: string; message: string }[];
}
const warnedOf = ({ warnings = [] }: Answered) => warnings.map(({ path }) => path);

describe('a parameter that clients always send', () => {
  it.each([
    ['temperature', 0.1, { temperature: 0.1 }],
    ['temperature', 0, { temperature: 0 }],
    ['top_p', 0.5, { top_p: 0.5 }],
    ['max_tokens', 512, { max_tokens: 512 }],
    ['max_completion_tokens', 512, { max_tokens: 512 }],
    ['stop', 'END', { stop: ['END'] }],
    ['stop', ['Observation:', 'Calling tools:'], { stop: ['Observation:', 'Calling tools:'] }],
  ])('%s %j reaches the model', async (param, value, sent) => {
    const model = await here.workflow({ workflow: { temperature: 0.9 } });
    here.model.script(says('Yes.'));
    const completion = await alice.chat.completions.create({ model, messages, [param]: value } as never);
    expect(warnedOf(completion as Answered)).toEqual([]);
    expect(here.model.requests.at(-1)).toMatchObject({ temperature: 0.9, ...sent });
  });

  it.each([
    ['temperature', 1, { temperature: 1 }],
    ['top_p', 1, { top_p: 1 }],
    ['stop', [], { stop: undefined }],
  ])('%s %j replaces the setting of the workflow, although it is the usual value', async (param, value, sent) => {
    const model = await here.workflow({ workflow: { temperature: 0.2, top_p: 0.3, stop: ['END'] } });
    here.model.script(says('Yes.'));
    const completion = await alice.chat.completions.create({ model, messages, [param]: value } as never);
    expect(warnedOf(completion as Answered)).toEqual([]);
    expect({ stop: undefined, ...here.model.requests.at(-1) }).toMatchObject(sent);
  });

  it.each(['constructor', 'toString'])('named %s, like a member of every object, is ignored with a warning', async (param) => {
    const model = await here.workflow();
    here.model.script(says('Yes.'));
    const body = { model, messages, [param]: 1 } as never;
    expect(warnedOf((await alice.chat.completions.create(body)) as Answered)).toEqual([param]);
    const refused = await refusal(alice.chat.completions.create(body, strictly));
    expect(refused).toMatchObject({ status: 400, code: 'unknown_parameter', param });
  });

  it.each([
    ['seed', 1],
    ['metadata', { a: 'b' }],
    ['user', 'u'],
    ['store', false],
    ['frequency_penalty', 0.5],
    ['presence_penalty', 0.5],
    ['logit_bias', { 50256: -100 }],
    ['prediction', { type: 'content', content: 'x' }],
    ['safety_identifier', 'u'],
    ['prompt_cache_key', 'k'],
    ['max_tokens', -1],
    ['reasoning_effort', 'heroic'],
    ['top_k', 40],
    ['min_p', 0.1],
    ['repetition_penalty', 1.1],
    ['chat_template_kwargs', { enable_thinking: false }],
    ['options', { num_ctx: 4096 }],
  ])('%s is accepted with a warning, in the body and in a header', async (param, value) => {
    const model = await here.workflow();
    here.model.script(says('Yes.'));
    const { data, response } = await alice.chat.completions.create({ model, messages, [param]: value } as never).withResponse();
    expect(warnedOf(data as Answered)).toEqual([param]);
    expect(warnedOf({ warnings: JSON.parse(response.headers.get('x-warnings') ?? '[]') })).toEqual([param]);
  });

  it.each([
    ['n', 2, 'unsupported_value'],
    ['logprobs', true, 'unsupported_value'],
    ['modalities', ['text', 'audio'], 'unsupported_value'],
    ['functions', [{ name: 'f' }], 'unsupported_value'],
    ['temperature', 3, 'invalid_value'],
    ['temperature', 'hot', 'invalid_value'],
    ['max_tokens', 'many', 'invalid_value'],
    ['stop', [1], 'invalid_value'],
    ['reasoning_effort', 'very high', 'invalid_value'],
    ['reasoning_effort', 'x'.repeat(33), 'invalid_value'],
  ])('%s %j is refused, because the reply would not be what was asked for', async (param, value, code) => {
    const model = await here.workflow();
    const refused = await refusal(alice.chat.completions.create({ model, messages, [param]: value } as never));
    expect(refused).toMatchObject({ status: 400, code, param });
    expect(await tasksOf(model)).toEqual([]);
  });

  it('holds for the whole run, does not make a version of the workflow, and is warned of in a stream', async () => {
    const model = await here.workflow();
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Done.'));
    const asked = { model, messages, temperature: 0.3, seed: 7, stream: true } as const;
    const { data, response } = await alice.chat.completions.create(asked).withResponse();
    const chunks: Answered[] = [];
    for await (const chunk of data) chunks.push(chunk as Answered);
    expect(chunks.flatMap(warnedOf)).toEqual(['seed']);
    expect(response.headers.get('x-warnings')).toContain('seed');
    expect(here.model.requests.slice(-2).map((body) => (body as { temperature?: number }).temperature)).toEqual([0.3, 0.3]);
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${model}/versions`))).toHaveLength(1);
  });

  it('is read by responses, too', async () => {
    const model = await here.workflow();
    here.model.script(says('Yes.'));
    const asked = {
      model,
      input: 'x',
      max_output_tokens: 99,
      text: { verbosity: 'low' },
      truncation: 'auto',
      reasoning: { effort: 'xhigh' },
    };
    const response = (await alice.responses.create(asked as never)) as Answered;
    expect(warnedOf(response)).toEqual(['truncation']);
    expect(here.model.requests.at(-1)).toMatchObject({ max_tokens: 99, reasoning_effort: 'xhigh' });
  });

  it.each([
    ['none', 'none'],
    ['low', 'low'],
    ['xhigh', 'xhigh'],
    ['heroic', 'heroic'],
  ])('is sent as the effort that was asked for: %s as %s', async (reasoning_effort, sent) => {
    const model = await here.workflow();
    here.model.script(says('Yes.'));
    await alice.chat.completions.create({ model, messages, reasoning_effort } as never);
    expect(here.model.requests.at(-1)).toMatchObject({ reasoning_effort: sent });
  });

  it('is accepted silently with the value that asks for what happens anyway', async () => {
    const model = await here.workflow();
    here.model.script(says('Once.'), says('Twice.'));
    const usual = {
      n: 1,
      tools: [],
      tool_choice: 'auto',
      response_format: { type: 'text' },
      temperature: 1,
      top_p: null,
      store: true,
    };
    const completion = await alice.chat.completions.create({ model, messages, ...usual } as never, strictly);
    expect(completion.choices[0]?.message.content).toBe('Once.');
    expect(warnedOf(completion as Answered)).toEqual([]);
    const text = { text: { format: { type: 'text' } }, tools: [], store: true, include: [], previous_response_id: null };
    expect((await alice.responses.create({ model, input: 'x', ...text } as never)).output_text).toBe('Twice.');
  });
});

const FUNCTION = { type: 'function', function: { name: 'final_answer', parameters: { type: 'object', properties: {} } } };
const said = (text: string) => [{ type: 'text', text }];

/** What programs send with their own defaults. */
const PROGRAMS: Record<string, object> = {
  LlamaIndex: { messages, stream: false, temperature: 0.1 },
  aider: { messages: [{ role: 'system', content: 'Act as an expert.' }, ...messages], temperature: 0, stream: true },
  smolagents: {
    messages: [
      { role: 'system', content: said('You are an expert.') },
      { role: 'user', content: said('New task: x') },
    ],
    stop: ['Observation:', 'Calling tools:'],
    tools: [FUNCTION],
    tool_choice: 'auto',
  },
  'AI SDK with textVerbosity': { messages, verbosity: 'low', user: 'u', max_completion_tokens: 200, reasoning_effort: 'none' },
  LibreChat: { messages, user: 'u', stream: true, temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 },
  'Open WebUI': { messages, stream: true, stream_options: { include_usage: true }, temperature: 0.8, seed: 1, top_k: 40 },
  Cline: { messages, temperature: 0, stream: true, stream_options: { include_usage: true }, parallel_tool_calls: false },
  Continue: { messages, max_tokens: 4_096, stop: ['<|im_end|>'], stream: true, prediction: { type: 'content', content: '' } },
  Zed: { messages, stream: true, max_completion_tokens: 4_096, stop: [], parallel_tool_calls: true, prompt_cache_key: 'k' },
  Langfuse: { messages, metadata: { trace: 't' }, store: true, service_tier: 'auto' },
};

it.each(Object.entries(PROGRAMS))('the request of %s works', async (_, body) => {
  const model = await here.workflow();
  here.model.script(says('Yes.'));
  const reply = await here.alice.post('/v1/chat/completions', { model, ...body });
  expect([reply.status, JSON.stringify(reply.body).includes('Yes.') || String(reply.body).includes('Yes.')]).toEqual([200, true]);
});

it('a run that failed is not started again by a client that retries', async () => {
  const model = await here.workflow();
  here.model.script(fails(400));
  const failed = await refusal(alice.chat.completions.create({ model, messages }));
  expect(failed).toMatchObject({ status: 502 });
  expect(await tasksOf(model)).toHaveLength(1);
});

it('a model is looked up by the name of an agent, or by the id of a workflow of the caller', async () => {
  const id = await here.workflow({ workflow: { title: 'Weekly report' } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  expect(await alice.models.retrieve(id)).toMatchObject({ id, name: 'Weekly report', object: 'model' });
  expect(await alice.models.retrieve(name)).toMatchObject({ id: name, name });
  expect((await alice.models.list()).data).toEqual(expect.arrayContaining([await alice.models.retrieve(id)]));
  expect(await refusal(bob.models.retrieve(id))).toMatchObject({ status: 403 });
  expect(await refusal(alice.models.retrieve('nobody'))).toMatchObject({ status: 404, code: 'model_not_found' });
});

describe('a completion', () => {
  it('is scored by its metadata', async () => {
    const model = await here.workflow();
    here.model.script(says('May.'));
    const { id } = await alice.chat.completions.create({ model, messages });
    const down = { score: 'down', note: 'It named the wrong month.' };
    expect(await alice.chat.completions.update(id, { metadata: down })).toMatchObject({ id, metadata: down });
    await alice.chat.completions.update(id, { metadata: { score: '-0.5' } });
    expect(await scoresOf(id)).toMatchObject([
      { thumb: null, value: -0.5, note: '' },
      { thumb: 'down', value: null, note: 'It named the wrong month.' },
    ]);
    const repeated = { headers: { 'idempotency-key': 'score-1' } };
    await alice.chat.completions.update(id, { metadata: { score: '3' } }, repeated);
    await alice.chat.completions.update(id, { metadata: { score: '3' } }, repeated);
    expect(await scoresOf(id)).toHaveLength(3);
  });

  it.each([{ score: 'maybe' }, { note: 'x' }, { score: 'up', other: 'x' }, { score: '1e400' }])(
    'is not scored by %o',
    async (metadata) => {
      const model = await here.workflow();
      here.model.script(says('May.'));
      const { id } = await alice.chat.completions.create({ model, messages });
      expect(await refusal(alice.chat.completions.update(id, { metadata } as never))).toMatchObject({ status: 422 });
      expect(await scoresOf(id)).toEqual([]);
    },
  );

  it('is not scored by someone else', async () => {
    const model = await here.workflow();
    here.model.script(says('May.'));
    const { id } = await alice.chat.completions.create({ model, messages });
    expect(await refusal(bob.chat.completions.update(id, { metadata: { score: 'up' } }))).toMatchObject({ status: 403 });
    expect(await scoresOf(id)).toEqual([]);
  });
});
