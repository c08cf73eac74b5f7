import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findMeantTool } from '../../src/domain/tool-names.ts';
import { type ModelServer, startModelServer } from '../support/peers/model-server.ts';
import { failure, reply } from './support.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server?.stop());

const TOOLS = ['look', 'tags'].map((name) => ({
  name,
  description: name,
  parameters: { type: 'object' },
  effect: 'read' as const,
}));

interface Body {
  status?: number;
  type?: string;
  body: string;
}

function ask({ status = 200, type = 'text/event-stream', body }: Body) {
  server.script((response) => void response.writeHead(status, { 'content-type': type }).end(body));
  return reply({ base_url: server.url }, { tools: TOOLS });
}

const frame = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const chunk = (delta: object, finish_reason: unknown = null, more: object = {}) =>
  frame({ id: 'c', model: 'scripted', choices: [{ index: 0, delta, finish_reason, ...more }] });
const DONE = 'data: [DONE]\n\n';
const SO = chunk({ content: 'so' });
const refused = (status: number, body: unknown): Body => ({ status, type: 'application/json', body: JSON.stringify(body) });
const openai = (message: string, code: string | null = null, type = 'invalid_request_error') => ({
  error: { message, type, code },
});

const call = (fields: object, more: object = {}) => chunk({ tool_calls: [{ index: 0, ...fields, ...more }] });
const piece = (args: unknown, name?: unknown) => ({ function: { ...(name === undefined ? {} : { name }), arguments: args } });

describe('calls are assembled as sent by', () => {
  const OSLO = { name: 'look', arguments: '{"city":"Oslo"}' };
  const ROME = { name: 'look', arguments: '{"city":"Rome"}' };
  it.each<[string, string, object[]]>([
    [
      'Qwen, with empty names and ids after the first piece',
      call({ id: 'a', ...piece('', 'look') }) +
        call({ id: '', ...piece('{"city":', '') }) +
        call({ id: '', ...piece('"Oslo"}', null) }),
      [OSLO],
    ],
    [
      'GLM, whole and with its end',
      chunk(
        {
          tool_calls: [
            { index: 0, id: 'a', ...piece('{"city":"Oslo"}', 'look') },
            { index: 1, id: 'b', ...piece('{"city":"Rome"}', 'look') },
          ],
        },
        'tool_calls',
      ),
      [OSLO, ROME],
    ],
    [
      'Kimi, with ids that name the call',
      call({ id: 'functions.look:0', ...piece('{"city":"Oslo"}', 'look') }) +
        chunk({ tool_calls: [{ index: 1, id: 'functions.look:1', ...piece('{"city":"Rome"}', 'look') }] }),
      [OSLO, ROME],
    ],
    [
      'a bridge that begins with an empty object for the arguments',
      call({ id: 'a', ...piece({}, 'look') }) + call(piece('{"city":"Oslo"}')),
      [OSLO],
    ],
    [
      'a server with numbers as ids',
      call({ id: 1, ...piece('{"city":"Oslo"}', 'look') }) +
        chunk({ tool_calls: [{ index: 1, id: 2, ...piece('{"city":"Rome"}', 'look') }] }),
      [OSLO, ROME],
    ],
    [
      'a server with indexes as text',
      chunk({ tool_calls: [{ index: '0', id: 'a', ...piece('{"city":', 'look') }] }) +
        chunk({ tool_calls: [{ index: '0', ...piece('"Oslo"}') }] }),
      [OSLO],
    ],
    [
      'a gateway that numbers the choices',
      frame({
        choices: [
          { index: 0, delta: { tool_calls: [{ index: 0, id: 'a', ...piece('{"city":"Oslo"}', 'look') }] } },
          { index: 1, delta: {} },
        ],
      }),
      [OSLO],
    ],
    [
      'MiniMax, again as a whole message at its end',
      call({ id: 'a', ...piece('{"city":"Oslo"}', 'look') }) +
        frame({
          object: 'chat.completion',
          choices: [
            {
              index: 0,
              finish_reason: 'tool_calls',
              message: {
                role: 'assistant',
                content: '',
                tool_calls: [{ index: 0, id: 'a', type: 'function', ...piece('{"city":"Oslo"}', 'look') }],
              },
            },
          ],
        }),
      [OSLO],
    ],
    [
      'gpt-oss, with the channel in its name',
      call({ id: 'a', ...piece('{"city":"Oslo"}', 'look<|channel|>commentary') }),
      [OSLO],
    ],
    [
      'Llama, with `parameters` for the arguments',
      call({ id: 'a', function: { name: 'look', parameters: { city: 'Oslo' } } }),
      [OSLO],
    ],
    ['an Anthropic bridge, with `input` for the arguments', call({ id: 'a', name: 'look', input: { city: 'Oslo' } }), [OSLO]],
    [
      'OpenAI for tools of the model, as a custom call',
      call({ id: 'a', type: 'custom', custom: { name: 'look', input: '{"city":"Oslo"}' } }),
      [OSLO],
    ],
  ])('%s', async (_, body, expected) => {
    const { calls } = await ask({ body: body + chunk({}, 'tool_calls') + DONE });
    expect(calls.map(({ id: __, ...one }) => one)).toEqual(expected);
  });
});

describe('text is read as sent by', () => {
  it.each<[string, string]>([
    [
      'MiniMax, again as a whole message at its end',
      chunk({ content: 's' }) +
        chunk({ content: 'o' }) +
        frame({
          object: 'chat.completion',
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'so' } }],
          usage: { total_tokens: 5 },
        }),
    ],
    [
      'a server that opens with empty lists and sends the whole message then',
      chunk({ role: 'assistant', content: '', tool_calls: [] }) +
        frame({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'so' } }] }),
    ],
    [
      'Perplexity, with the text so far next to each piece',
      ['s', 'o']
        .map((content, at) => frame({ choices: [{ index: 0, delta: { content }, message: { content: 'so'.slice(0, at + 1) } }] }))
        .join('') + chunk({}, 'stop'),
    ],
    [
      'Azure, with results of its filter and no delta',
      frame({ choices: [], prompt_filter_results: [{}] }) +
        SO +
        frame({ choices: [{ index: 0, content_filter_offsets: {}, content_filter_results: {}, finish_reason: null }] }) +
        chunk({}, 'stop'),
    ],
    [
      'Databricks, in parts after its reasoning',
      chunk({ content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }] }) +
        chunk({ content: [{ type: 'text', text: 'so' }] }, 'stop'),
    ],
    ['a bridge of the Responses API, in its parts', chunk({ content: [{ type: 'output_text', text: 'so' }] }, 'stop')],
    ['a server that sends a part in place of a list', chunk({ content: { type: 'text', text: 'so' } }, 'stop')],
    ['a proxy that writes `data:` twice', `data: ${SO}data: ${chunk({}, 'stop')}`],
    ['a proxy that glues events', SO.trim() + chunk({}, 'stop')],
    [
      'a completion of the older form',
      frame({ object: 'text_completion', choices: [{ index: 0, text: 'so', finish_reason: 'stop' }] }),
    ],
    ['Cerebras, with an event between', SO + frame({ keepalive: true }) + chunk({}, 'stop')],
    ['a server that names each event', `event: chunk\n${SO}event: chunk\n${chunk({}, 'stop')}event: done\ndata: {}\n\n`],
  ])('%s', async (_, body) => {
    expect(await ask({ body: body + DONE })).toMatchObject({ text: 'so', streamed: 'so', finish: 'stop' });
  });
});

describe('thinking is kept as sent by', () => {
  it.each<[string, object]>([
    ['GitHub Copilot', { reasoning_text: 'hm' }],
    ['Databricks', { content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }] }],
    ['OpenRouter, in details alone', { reasoning_details: [{ type: 'reasoning.text', text: 'hm', index: 0 }] }],
    [
      'LiteLLM, next to its blocks',
      { reasoning_content: 'hm', thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }] },
    ],
    ['an endpoint that writes it as a text', { content: [{ type: 'thinking', text: 'hm' }] }],
    ['vLLM, in both of its fields', { reasoning: 'hm', reasoning_content: 'hm' }],
  ])('%s', async (_, delta) => {
    expect(await ask({ body: chunk(delta) + SO + chunk({}, 'stop') + DONE })).toMatchObject({ text: 'so', reasoning: 'hm' });
  });
});

describe('an answer', () => {
  const endWith = (word: unknown) => ask({ body: SO + chunk({}, word) + DONE });

  it.each<[unknown, 'stop' | 'length']>([
    ['eosFound', 'stop'],
    ['stopStringFound', 'stop'],
    ['endOfTurn', 'stop'],
    ['endTurn', 'stop'],
    [{ type: 'stop', matched: 2 }, 'stop'],
    [{ type: 'length', length: 16 }, 'length'],
    ['maxPredictedTokensReached', 'length'],
    ['contextLengthReached', 'length'],
    ['MaxTokens', 'length'],
    ['max_output_reached', 'length'],
  ])('ends with %j, which is %s', async (word, finish) => {
    expect(await endWith(word)).toMatchObject({ text: 'so', finish });
  });

  const FAILED = { code: 'model_error', recoverable: true };
  it.each<[string, object]>([
    ['contentFilter', { code: 'content_filter' }],
    ['IMAGE_PROHIBITED_CONTENT', { code: 'content_filter' }],
    ['modelUnloaded', FAILED],
    ['upstream_error', FAILED],
    ['server_shutdown', FAILED],
    ['rate_limit', FAILED],
    ['ERROR_LIMIT', FAILED],
  ])('that ends with %j has failed: %j', async (word, failed) => {
    expect(await failure(endWith(word))).toMatchObject(failed);
  });
});

describe('an error is shown in the words of', () => {
  const WORDS = 'the engine is dead';
  it.each<[string, unknown]>([
    ['Hugging Face', { error: [WORDS] }],
    ['Elasticsearch', { error: { root_cause: [{ type: 'x', reason: WORDS }], type: 'x', reason: WORDS }, status: 500 }],
    ['JSON:API', { errors: [{ status: '500', title: 'Internal', detail: WORDS }] }],
    ['gRPC', { code: 13, message: WORDS, details: [] }],
    [
      'SageMaker',
      {
        ErrorCode: 'X',
        Message: `Received server error (500) from primary with message "{"error": "${WORDS}"}".`,
        OriginalMessage: `{"error": "${WORDS}"}`,
      },
    ],
    ['Databricks', { error_code: 'INTERNAL', message: JSON.stringify({ object: 'error', message: WORDS, code: 500 }) }],
    ['Portkey', { status: 'failure', message: WORDS }],
    ['a list of messages', { error: { message: [WORDS] } }],
    ['a name alone', { error: { message: null, code: WORDS } }],
    ['zod', { success: false, error: { name: 'ZodError', message: JSON.stringify([{ code: 'x', message: WORDS }]) } }],
    ['a lambda', { errorType: 'Error', errorMessage: WORDS, trace: [] }],
    ['LangServe', { status_code: 500, message: WORDS }],
    ['a reason', { code: 500, reason: WORDS }],
    ['an explanation', { error: { description: WORDS } }],
    ['Cohere', { id: 'x', message: WORDS }],
    ['a text in place of a list', { errors: WORDS }],
    ['a validator that has messages', { detail: [{ message: WORDS }] }],
    ['a validator that has anything', { detail: [{ at: 'body', note: WORDS, index: 7 }] }],
    ['a status alone', { status: 500, note: WORDS }],
  ])('%s', async (_, body) => {
    for (const answered of [refused(500, body), { body: SO + frame(body) + DONE }]) {
      const { message } = await failure(ask(answered));
      expect(message).toContain(WORDS);
      expect(message).not.toMatch(/[{}[\]\\]/);
    }
  });
});

it.each([
  ['', 599, 'answered: 599 an error, and nothing else'],
  ['{}', 500, 'answered: 500 an error without a reason'],
  [{ errors: 'It is dead.' }, 500, 'answered: 500 It is dead.'],
  [{ detail: [{ at: 'body', note: 'odd', index: 7 }] }, 500, 'answered: 500 at body, note odd, index 7'],
  [openai('It says {"a": 1}.'), 500, 'answered: 500 It says {"a": 1}.'],
  [openai(`It says {"a": ${'['.repeat(200)}${']'.repeat(200)}}`), 500, 'answered: 500 It says {"a": [[['],
])('an error that has no words but %j is shown as it is', async (body, status, words) => {
  const answered = refused(status, body);
  expect((await failure(ask(typeof body === 'string' ? { ...answered, body } : answered))).message).toContain(words);
});

it.each([
  [{ message: 'Slow down', retry_after_ms: 1_500 }, 1_500],
  [{ message: 'Slow down', retry_after: 2 }, 2_000],
  [{ message: 'Slow down', retry_after: '3s' }, 3_000],
  [{ message: 'Try again in 250ms' }, 250],
  [{ message: 'Please retry in 1h2m3s' }, 3_723_000],
])('a pause is taken from %j', async (error, retry_after_ms) => {
  expect(await failure(ask(refused(429, { error })))).toMatchObject({ code: 'rate_limited', retry_after_ms });
});

describe('a refusal counts as', () => {
  it.each<[string, Body, object]>([
    [
      'a call that Groq cannot read',
      refused(400, openai('Failed to call a function.', 'tool_use_failed')),
      { code: 'model_error', recoverable: true },
    ],
    [
      'JSON that Groq cannot read',
      refused(400, openai('Failed to generate JSON.', 'json_validate_failed')),
      { code: 'model_error', recoverable: true },
    ],
    [
      'a filter of Azure',
      refused(400, {
        error: {
          message: 'The response was filtered.',
          code: 'content_filter',
          innererror: { code: 'ResponsibleAIPolicyViolation' },
        },
      }),
      { code: 'content_filter', recoverable: false },
    ],
    [
      'a filter of DashScope',
      refused(400, openai('Output data may contain inappropriate content.', 'data_inspection_failed')),
      { code: 'content_filter', recoverable: false },
    ],
    [
      'a filter of Anthropic',
      refused(400, {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' },
      }),
      { code: 'content_filter', recoverable: false },
    ],
    [
      'a filter of OpenRouter',
      refused(403, {
        error: {
          code: 403,
          message: 'm requires moderation. Your input was flagged.',
          metadata: { reasons: ['violence'], flagged_input: 'x' },
        },
      }),
      { code: 'content_filter', recoverable: false },
    ],
    ['a filter of DeepSeek', refused(400, openai('Content Exists Risk')), { code: 'content_filter', recoverable: false }],
    [
      'a filter of Zhipu',
      refused(400, {
        contentFilter: [{ level: 1, role: 'user' }],
        error: { code: '1301', message: '系统检测到输入或生成内容可能包含不安全或敏感内容' },
      }),
      { code: 'content_filter', recoverable: false },
    ],
    [
      'a key that Gemini refuses',
      refused(400, [
        { error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' } },
      ]),
      { code: 'model_unauthorized', recoverable: false },
    ],
    [
      'a key that xAI refuses',
      refused(400, {
        code: 'Client specified an invalid argument',
        error: 'Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai.',
      }),
      { code: 'model_unauthorized', recoverable: false },
    ],
    [
      'a model that Mistral does not know',
      refused(400, { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' }),
      { code: 'unknown_model', recoverable: false },
    ],
    [
      'a model that DeepSeek does not know',
      refused(400, openai('Model Not Exist')),
      { code: 'unknown_model', recoverable: false },
    ],
    [
      'a model that OpenRouter does not know',
      refused(400, { error: { message: 'x/y is not a valid model ID', code: 400 } }),
      { code: 'unknown_model', recoverable: false },
    ],
    [
      'a model that Groq has taken away',
      refused(400, openai('The model `x` has been decommissioned and is no longer supported.', 'model_decommissioned')),
      { code: 'unknown_model', recoverable: false },
    ],
    [
      'a model that is gone, without a code',
      refused(410, { error: { message: 'The model x has been retired; use y instead' } }),
      { code: 'unknown_model', recoverable: false },
    ],
    [
      'a suspended account of Fireworks',
      refused(412, {
        error: 'Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.',
      }),
      { code: 'quota_exhausted', recoverable: false },
    ],
    [
      'an empty account of Zhipu',
      refused(429, { error: { code: '1113', message: '余额不足或无可用资源包,请充值。' } }),
      { code: 'quota_exhausted', recoverable: false },
    ],
    [
      'an empty account of Gemini',
      refused(429, [
        {
          error: {
            code: 429,
            message: 'Your prepayment credits are depleted. Please go to AI Studio.',
            status: 'RESOURCE_EXHAUSTED',
          },
        },
      ]),
      { code: 'quota_exhausted', recoverable: false },
    ],
    [
      'an empty account of xAI',
      refused(403, {
        code: 'x',
        error: 'Your team t has either used all available credits or reached its monthly spending limit.',
      }),
      { code: 'quota_exhausted', recoverable: false },
    ],
    [
      'used credits of Hugging Face',
      refused(402, { error: 'You have exceeded your monthly included credits for Inference Providers.' }),
      { code: 'quota_exhausted', recoverable: false },
    ],
    [
      'a pause of GitHub Models',
      refused(429, {
        error: {
          code: 'RateLimitReached',
          message: 'Rate limit of 10 per 60s exceeded for UserByModelByMinute. Please wait 42 seconds before retrying.',
        },
      }),
      { code: 'rate_limited', retry_after_ms: 42_000 },
    ],
    [
      'a pause in minutes',
      refused(429, openai('Please try again in 2 minutes.', 'rate_limit_exceeded')),
      { code: 'rate_limited', retry_after_ms: 120_000 },
    ],
    [
      'a pause of OpenAI',
      refused(429, openai('Rate limit reached. Please try again in 1m12.5s.', 'rate_limit_exceeded')),
      { code: 'rate_limited', retry_after_ms: 72_500 },
    ],
    [
      'throttling of Bedrock',
      refused(429, { message: 'Too many tokens, please wait before trying again.' }),
      { code: 'rate_limited', recoverable: true },
    ],
    [
      'throttling of DashScope',
      refused(400, openai('Requests rate limit exceeded, please try again later.', 'Throttling.RateQuota')),
      { code: 'rate_limited', recoverable: true },
    ],
    [
      'a full engine of Moonshot',
      refused(429, openai('The engine is currently overloaded, please try again later', null, 'engine_overloaded_error')),
      { code: 'rate_limited', recoverable: true },
    ],
    [
      'an overloaded Anthropic',
      refused(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      { code: 'model_error', recoverable: true },
    ],
    [
      'a gateway time-out of Cloudflare',
      { status: 524, type: 'text/html', body: '<html><head><title>api.x.test | 524: A timeout occurred</title></head></html>' },
      { code: 'model_error', recoverable: true },
    ],
  ])('%s', async (_, body, expected) => {
    expect(await failure(ask(body))).toMatchObject(expected);
  });
});

describe('a full window is recognised in the words of', () => {
  it.each<[string, string, number | undefined]>([
    ['llama-cpp-python', 'Requested tokens (5000) exceed context window of 4096', 4_096],
    ['Ollama', 'prompt too long; exceeded max context length by 5 tokens', undefined],
    ['DeepInfra', 'Requested input length 40000 exceeds maximum input length 32767', 32_767],
    ['a maximum sequence length', "input exceeds the model's maximum sequence length of 4096 tokens", 4_096],
    [
      'OpenRouter',
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 in the output).",
      131_072,
    ],
    [
      'vLLM, newer',
      "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value=5000)",
      4_096,
    ],
    ['OpenAI', 'Your input exceeds the context window of this model. Please adjust your input and try again.', undefined],
    ['Vertex', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
    ['a context limit', 'The tokens in the prompt exceeds the context limit 32768', 32_768],
    ['Volcengine, older', 'Request exceeded max tokens: total message token length exceed model limit', undefined],
    ['a maximum allowed length', 'Prompt has 300000 tokens, which exceeds the maximum allowed length of 262144', 262_144],
    ['a limit of the model', "the total number of tokens exceeds the model's limit of 8192", 8_192],
    [
      'LM Studio',
      'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
      4_096,
    ],
    ['a maximum prompt size', 'Your prompt has 5000 tokens, but the maximum prompt size is 4096 tokens', 4_096],
    ['a sentence in Chinese', '输入长度超过模型上下文限制', undefined],
  ])('%s', async (_, message, context_window) => {
    const failed = await failure(ask(refused(400, openai(message))));
    expect([failed.code, failed.context_window]).toEqual(['context_window_full', context_window]);
  });
});

describe('a tool is meant by', () => {
  it.each([
    'look<|channel|>commentary',
    'look<|constrain|>json',
    'functions.look:0',
    'look()',
    'default_api.look()',
    'tools/look',
    '<look>',
    'look:',
    'functions::look',
    'functions.look<|channel|>json',
    'tool_call: look',
    'print(default_api.look)',
  ])('%s', (written) => {
    expect(findMeantTool(written, new Map([['look', 1]]))).toBe('look');
  });
});
