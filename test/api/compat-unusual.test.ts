import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let model: string;
beforeAll(async () => {
  here = await shareInstallation();
  here.model.always(says('Done.'));
  model = await here.workflow();
});
afterAll(() => here?.stop());

const user = (content: unknown) => ({ role: 'user', content });
const ask = { messages: [user('Go.')] };
const talk = (...messages: object[]) => ({ messages: [...messages, user('Go.')] });
const call = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } };
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

/** Requests as clients legally send them, which a run can answer. */
const CHAT: [string, object][] = [
  ['a developer message', talk({ role: 'developer', content: 'Be brief.' })],
  ['a system message in parts', talk({ role: 'system', content: [{ type: 'text', text: 'Be brief.' }] })],
  [
    'an answer with null content and a call',
    talk(user('a'), { role: 'assistant', content: null, tool_calls: [call] }, { role: 'tool', tool_call_id: 'c', content: 'x' }),
  ],
  [
    'an answer without content',
    talk(
      user('a'),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'x' }] },
    ),
  ],
  ['an empty list of content', talk(user('a'), { role: 'assistant', content: [] })],
  ['an empty answer', talk(user('a'), { role: 'assistant', content: '' })],
  ['an answer with a refusal', talk(user('a'), { role: 'assistant', content: null, refusal: 'No.' })],
  ['an answer with a part of refusal', talk(user('a'), { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] })],
  [
    'a legacy call and its result',
    talk(
      user('a'),
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: 'x' },
    ),
  ],
  ['an answer with audio', talk(user('a'), { role: 'assistant', audio: { id: 'audio_1' } })],
  [
    'an answer with null fields',
    talk(user('a'), {
      role: 'assistant',
      content: 'b',
      tool_calls: null,
      function_call: null,
      refusal: null,
      audio: null,
      annotations: [],
    }),
  ],
  [
    'reasoning of an earlier answer',
    talk(user('a'), { role: 'assistant', content: 'b', reasoning_content: 'hm', reasoning: 'hm' }),
  ],
  ['names of participants', { messages: [{ ...user('Go.'), name: 'ada' }] }],
  ['a mark for a cache', { messages: [user([{ type: 'text', text: 'Go.', cache_control: { type: 'ephemeral' } }])] }],
  ['text in the type of responses', { messages: [user([{ type: 'input_text', text: 'Go.' }])] }],
  [
    'an image as an object with a detail',
    {
      messages: [
        user([
          { type: 'text', text: 'Go.' },
          { type: 'image_url', image_url: { url: PIXEL, detail: 'auto' } },
        ]),
      ],
    },
  ],
  [
    'an image as a text',
    {
      messages: [
        user([
          { type: 'text', text: 'Go.' },
          { type: 'image_url', image_url: PIXEL },
        ]),
      ],
    },
  ],
  ['only a system message', { messages: [{ role: 'system', content: 'Go.' }] }],
  ['only a developer message', { messages: [{ role: 'developer', content: 'Go.' }] }],
  ['an answer to be continued', talk(user('a'), { role: 'assistant', content: 'b', prefix: true })],
  ['n: 1', { ...ask, n: 1 }],
  ['logprobs: false', { ...ask, logprobs: false, top_logprobs: 0 }],
  ['logprobs: null', { ...ask, logprobs: null, top_logprobs: null, n: null }],
  ['modalities: text', { ...ask, modalities: ['text'] }],
  ['a prediction', { ...ask, prediction: { type: 'content', content: 'Done.' } }],
  ['reasoning_effort: none', { ...ask, reasoning_effort: 'none' }],
  ['reasoning_effort: xhigh', { ...ask, reasoning_effort: 'xhigh' }],
  ['no tools', { ...ask, tools: [], tool_choice: 'none', parallel_tool_calls: false }],
  ['tool_choice auto without tools', { ...ask, tool_choice: 'auto' }],
  ['no functions', { ...ask, functions: [], function_call: 'none' }],
  ['response_format text', { ...ask, response_format: { type: 'text' } }],
  ['stream_options without a stream', { ...ask, stream: false, stream_options: { include_usage: true } }],
  ['stream_options null', { ...ask, stream_options: null }],
  ['stop as text', { ...ask, stop: 'END' }],
  ['both limits', { ...ask, max_tokens: 50, max_completion_tokens: 60 }],
  ['max_tokens: -1', { ...ask, max_tokens: -1 }],
  ['max_tokens as a number with a point', { ...ask, max_tokens: 50.0 }],
  ['logit_bias and penalties', { ...ask, logit_bias: { 50256: -100 }, presence_penalty: 0.5, frequency_penalty: -0.5 }],
  ['sampling of other servers', { ...ask, top_k: 40, min_p: 0.1, repetition_penalty: 1.1, typical_p: 1, mirostat: 0 }],
  [
    'chat_template_kwargs',
    { ...ask, chat_template_kwargs: { enable_thinking: false }, enable_thinking: false, thinking: { type: 'disabled' } },
  ],
  [
    'routing of OpenRouter',
    { ...ask, provider: { order: ['x'] }, transforms: [], models: ['a'], route: 'fallback', usage: { include: true } },
  ],
  ['keep_alive and options of Ollama', { ...ask, keep_alive: '5m', options: { num_ctx: 4096 } }],
  [
    'metadata and store',
    { ...ask, metadata: { a: 'b' }, store: true, user: 'u', service_tier: 'auto', safety_identifier: 's', prompt_cache_key: 'k' },
  ],
  ['a verbosity', { ...ask, verbosity: 'low' }],
];

it.each(CHAT)('a chat completion with %s is answered', async (_, body) => {
  const { status, body: reply } = await here.alice.post('/v1/chat/completions', { model, ...body });
  expect([status, (reply as any).error?.message ?? (reply as any).choices?.[0]?.message?.content]).toEqual([200, 'Done.']);
});

const item = (type: string, more: object = {}) => ({
  input: [
    { type, ...more },
    { role: 'user', content: 'Go.' },
  ],
});
const RESPONSES: [string, object][] = [
  ['a text', { input: 'Go.' }],
  ['a message without a type', { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Go.' }] }] }],
  [
    'an earlier answer as it was sent',
    item('message', {
      id: 'msg_1',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'b', annotations: [], logprobs: [] }],
    }),
  ],
  ['a developer message', item('message', { role: 'developer', content: 'Be brief.' })],
  [
    'a call and its result',
    {
      input: [
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'x' },
        { role: 'user', content: 'Go.' },
      ],
    },
  ],
  [
    'a result in parts',
    {
      input: [
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
        { role: 'user', content: 'Go.' },
      ],
    },
  ],
  [
    'a custom call and its result',
    {
      input: [
        { type: 'custom_tool_call', call_id: 'c', name: 'look', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'c', output: 'y' },
        { role: 'user', content: 'Go.' },
      ],
    },
  ],
  ['text settings', { input: 'Go.', text: { format: { type: 'text' }, verbosity: 'low' } }],
  ['reasoning settings', { input: 'Go.', reasoning: { effort: 'none', summary: 'auto' } }],
  ['what it includes', { input: 'Go.', include: ['reasoning.encrypted_content'], store: false }],
  ['truncation', { input: 'Go.', truncation: 'auto' }],
  [
    'null fields',
    {
      input: 'Go.',
      instructions: null,
      previous_response_id: null,
      tools: null,
      reasoning: null,
      text: null,
      conversation: null,
      max_tool_calls: null,
    },
  ],
  ['a number of calls', { input: 'Go.', max_tool_calls: 3, top_logprobs: 0 }],
];

it.each(RESPONSES)('a response with %s is answered', async (_, body) => {
  const { status, body: reply } = await here.alice.post('/v1/responses', { model, ...body });
  expect([status, (reply as any).error?.message ?? (reply as any).status]).toEqual([200, 'completed']);
});

it('leaves out items that only record what happened elsewhere, with a warning in reply and header', async () => {
  const input = [
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { type: 'mcp_call', id: 'm', name: 'f', arguments: '{}' },
    user('Go.'),
  ];
  const { headers, body } = await here.alice.post('/v1/responses', { model, input });
  const { status, warnings } = body as any;
  expect([status, warnings.map(({ path }: any) => path)]).toEqual(['completed', ['input.0']]);
  expect(JSON.parse(headers.get('x-warnings')!)).toEqual(warnings);
  const strict = await here.alice.post('/v1/responses', { model, input }, { prefer: 'handling=strict' });
  expect([strict.status, (strict.body as any).error.param]).toEqual([400, 'input.0']);
  const nothing = await here.alice.post('/v1/responses', { model, input: input.slice(0, 1) });
  expect([nothing.status, (nothing.body as any).error]).toMatchObject([400, { param: 'input', code: 'unsupported_content' }]);
});

it('replaces a reference to an answer by the answer, for its owner alone', async () => {
  const { body: first } = await here.alice.post('/v1/responses', { model, input: 'Go.' });
  const { id } = (first as any).output.at(-1);
  const input = [user('Go.'), { type: 'item_reference', id }, { type: 'item_reference', id: 'rs_1' }, user('And now?')];
  const { status, body } = await here.alice.post('/v1/responses', { model, input });
  expect([status, (body as any).warnings.map(({ path }: any) => path)]).toEqual([200, ['input.2']]);
  expect(JSON.stringify(here.model.requests.at(-1))).toContain('<message role=\\"assistant\\">\\nDone.');
  for (const [who, reference] of [
    [here.bob, id],
    [here.alice, 'msg_1'],
  ] as const) {
    const refused = await who.post('/v1/responses', { model, input: [{ type: 'item_reference', id: reference }, user('x')] });
    expect([refused.status, (refused.body as any).error.param]).toEqual([400, 'input.0']);
  }
});

it('replaces 100 references, and no more characters than the longest answer has', async () => {
  const { body: first } = await here.alice.post('/v1/responses', { model, input: 'Go.' });
  const { id } = (first as any).output.at(-1);
  const post = (references: number) =>
    here.alice.post('/v1/responses', {
      model,
      input: [...Array(references).fill({ type: 'item_reference', id }), user('And now?')],
    });
  expect((await post(100)).status).toBe(200);
  const refused = await post(101);
  expect([refused.status, (refused.body as any).error]).toMatchObject([
    400,
    { param: 'input.100', message: 'An input may refer to 100 items; send the content of the others' },
  ]);
  // As many characters as the limit in eight answers, then one more.
  const setAnswer = (characters: number) =>
    here.sql(`UPDATE tasks SET response = to_jsonb(repeat('a', $2::int)) WHERE id = $1`, id.slice('msg_'.length), characters);
  await setAnswer(1_024 ** 2);
  expect((await post(8)).body).not.toMatchObject({
    error: { message: expect.stringContaining('An input may refer to answers') },
  });
  await setAnswer(1_024 ** 2 + 1);
  expect((await post(8)).body).toMatchObject({
    error: { param: 'input.7', message: 'An input may refer to answers of 8388608 characters; leave out some references' },
  });
});

const REFUSED: [string, object, string][] = [
  ['several answers', { ...ask, n: 2 }, 'n'],
  ['logprobs', { ...ask, logprobs: true }, 'logprobs'],
  ['audio', { ...ask, modalities: ['text', 'audio'] }, 'modalities'],
  ['an empty last message', { messages: [user('')] }, 'messages.0'],
  ['a format that nobody knows', { ...ask, response_format: { type: 'grammar' } }, 'response_format'],
  ['a video', { messages: [user([{ type: 'video_url', video_url: { url: 'x' } }])] }, 'messages.0.content.0'],
];

it.each(REFUSED)('a chat completion with %s is refused by name', async (_, body, param) => {
  const { status, body: reply } = await here.alice.post('/v1/chat/completions', { model, ...body });
  const { error } = reply as any;
  expect([status, error.type]).toEqual([400, 'invalid_request_error']);
  expect(error.param?.startsWith(param), JSON.stringify(error)).toBe(true);
});
