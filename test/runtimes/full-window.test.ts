import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ModelServer, startModelServer } from '../support/peers/model-server.ts';
import { failure, reply } from './support.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

interface Refusal {
  status?: number;
  body: unknown;
  api?: 'messages';
}

function ask({ status = 400, body, api }: Refusal) {
  server.script((response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
  return api
    ? reply({ provider_type: 'anthropic_messages', base_url: server.url.replace('/v1', ''), api_key_token_name: 'key' })
    : reply({ base_url: server.url });
}

const openai = (message: string, code: unknown = null, type: unknown = 'invalid_request_error') => ({
  error: { message, type, param: 'messages', code },
});
const sentence = (text: string, status = 400): Refusal => ({ status, body: openai(text) });

/** Bodies as documentation, sources and public reports show them, with the size that each names. */
const FULL: [string, Refusal, number | undefined][] = [
  [
    'OpenAI, chat completions',
    {
      body: openai(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens. Please reduce the length of the messages.",
        'context_length_exceeded',
      ),
    },
    8_192,
  ],
  [
    'OpenAI, newer models',
    {
      body: openai(
        'Your input exceeds the context window of this model. Please adjust your input and try again.',
        'context_length_exceeded',
      ),
    },
    undefined,
  ],
  [
    'OpenAI, without its code',
    sentence('Your input exceeds the context window of this model. Please adjust your input.'),
    undefined,
  ],
  [
    'Azure',
    {
      body: openai(
        "This model's maximum context length is 128000 tokens, however you requested 130000 tokens (129000 in your prompt; 1000 for the completion). Please reduce your prompt; or completion length.",
      ),
    },
    128_000,
  ],
  [
    'Anthropic',
    {
      api: 'messages',
      body: {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'prompt is too long: 201234 tokens > 200000 maximum' },
      },
    },
    200_000,
  ],
  [
    'Anthropic, with the output',
    {
      api: 'messages',
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message:
            'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
        },
      },
    },
    200_000,
  ],
  [
    'vLLM',
    {
      body: {
        object: 'error',
        message:
          "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    },
    4_096,
  ],
  [
    'vLLM, with max_tokens',
    sentence(
      "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 tokens and your request has 1500 input tokens (4096 > 2048 - 1500).",
    ),
    2_048,
  ],
  [
    'vLLM, its engine',
    sentence(
      'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is at least the number of text tokens.',
    ),
    4_096,
  ],
  [
    'vLLM, newest',
    sentence(
      "You passed 4097 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens. Please reduce the length of the input prompt.",
    ),
    4_096,
  ],
  [
    'vLLM, first of its engines',
    sentence('The engine prompt length 1327246 exceeds the max_model_len 131072. Please reduce prompt.'),
    131_072,
  ],
  [
    'llama.cpp',
    {
      body: {
        error: {
          code: 400,
          message: 'the request exceeds the available context size. try increasing the context size or enable context shift',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 5_000,
          n_ctx: 4_096,
        },
      },
    },
    4_096,
  ],
  [
    'llama.cpp, newer',
    sentence('request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it'),
    4_096,
  ],
  [
    'llama.cpp, while it answers',
    { status: 500, body: openai('Context size has been exceeded.', 500, 'server_error') },
    undefined,
  ],
  ['Ollama', { body: { error: 'prompt too long; exceeded max context length by 120 tokens' } }, undefined],
  ['Ollama, embeddings', { body: { error: 'the input length exceeds the context length' } }, undefined],
  [
    'LM Studio',
    {
      body: {
        error:
          'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
      },
    },
    4_096,
  ],
  [
    'LM Studio, with n_ctx',
    {
      body: {
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096)',
      },
    },
    4_096,
  ],
  [
    'Gemini',
    {
      body: [
        {
          error: {
            code: 400,
            message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
    },
    1_048_576,
  ],
  [
    'Vertex',
    sentence(
      'Unable to submit request because the input token count is 1000001 but model only supports up to 1000000. Reduce the input token count and try again.',
    ),
    1_000_000,
  ],
  [
    'LiteLLM',
    {
      body: {
        error: {
          message:
            "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - This model's maximum context length is 16385 tokens. However, your messages resulted in 20000 tokens.",
          type: null,
          param: null,
          code: '400',
        },
      },
    },
    16_385,
  ],
  [
    'LiteLLM with JSON of another vendor in its text',
    sentence(
      'litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209000 tokens > 200000 maximum"}}\'',
    ),
    200_000,
  ],
  [
    'OpenRouter',
    {
      body: {
        error: {
          message:
            'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 200000 tokens (199000 of text input, 1000 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
          code: 400,
          metadata: { provider_name: null },
        },
      },
    },
    131_072,
  ],
  [
    'OpenRouter around Anthropic',
    {
      body: {
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: {
            raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209000 tokens > 200000 maximum"}}',
            provider_name: 'Anthropic',
          },
        },
      },
    },
    200_000,
  ],
  ['Bedrock', { body: { message: 'Input is too long for requested model.' } }, undefined],
  [
    'Bedrock, Titan',
    { body: { message: '400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9000 ' } },
    8_192,
  ],
  [
    'Bedrock, Nova',
    {
      body: {
        message: 'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
      },
    },
    undefined,
  ],
  [
    'Mistral',
    {
      body: {
        object: 'error',
        message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_prompt',
        code: '3051',
      },
    },
    32_768,
  ],
  [
    'Cohere',
    {
      body: {
        message:
          'too many tokens: size limit exceeded by 1000 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.',
      },
    },
    128_000,
  ],
  ['Cohere on Bedrock', { body: { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' } }, 4_081],
  ['Fireworks', sentence('The prompt is too long: 10000, model maximum context length: 8192'), 8_192],
  ['Groq', { body: openai('Please reduce the length of the messages or completion.', 'context_length_exceeded') }, undefined],
  [
    'Cerebras',
    {
      body: {
        message: 'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    },
    8_192,
  ],
  [
    'xAI',
    {
      body: {
        code: 'Client specified an invalid argument',
        error: "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
      },
    },
    131_072,
  ],
  ['Moonshot', sentence('Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)'), 8_192],
  ['DashScope', { body: { code: 'InvalidParameter', message: 'Range of input length should be [1, 30720]' } }, 30_720],
  [
    'DashScope, compatible',
    sentence('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]'),
    98_304,
  ],
  ['Zhipu', { body: { error: { code: '1261', message: 'Prompt 超长' } } }, undefined],
  [
    'MiniMax',
    { body: { base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit' } } },
    undefined,
  ],
  ['SGLang', sentence("The input (5000 tokens) is longer than the model's context length (4096 tokens)."), 4_096],
  [
    'Text Generation Inference',
    {
      status: 422,
      body: {
        error:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`',
        error_type: 'validation',
      },
    },
    4_096,
  ],
  [
    'GitHub Models',
    {
      status: 413,
      body: {
        error: { code: 'tokens_limit_reached', message: 'Request body too large for gpt-4o model. Max size: 8000 tokens.' },
      },
    },
    8_000,
  ],
  [
    'GitHub Copilot',
    {
      body: {
        error: { message: 'prompt token count of 140000 exceeds the limit of 128000', code: 'model_max_prompt_tokens_exceeded' },
      },
    },
    128_000,
  ],
  ['TensorRT-LLM', sentence('Prompt length (5000) exceeds maximum input length (4096). Set log level to info'), 4_096],
  ['MLC', sentence('Request prompt has 5000 tokens in total, larger than the model input length limit 4096.'), 4_096],
  [
    'watsonx',
    {
      body: {
        errors: [
          {
            code: 'invalid_input_argument',
            message:
              'Invalid input argument for Model: the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model',
          },
        ],
      },
    },
    4_096,
  ],
  [
    'OpenAI, with a configured limit',
    sentence(
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.',
    ),
    272_000,
  ],
  [
    'Volcengine',
    { body: openai('Input length 203743 exceeds the maximum length 202752. Request id: 021', 'InvalidParameter') },
    202_752,
  ],
  ['Volcengine, with images', sentence('Total tokens of image and text exceed max message tokens. Request id: 0217'), undefined],
  [
    'SGLang, newer',
    sentence(
      "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 200000 tokens.",
    ),
    131_072,
  ],
  [
    'SGLang, its engine',
    sentence('Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens). Use a shorter input.'),
    4_090,
  ],
  ['TabbyAPI', sentence('Prompt length 5000 is greater than max_seq_len 4096'), 4_096],
  [
    'LM Studio, while it answers',
    sentence(
      'Reached context length of 4096 tokens with this model, but this model does not currently support mid-generation context overflow.',
    ),
    4_096,
  ],
  [
    'Text Generation Inference, with truncation off',
    sentence('Input validation error: `inputs` must have less than 4095 tokens. Given: 5000', 422),
    4_095,
  ],
  ['Databricks', sentence('prompt token count (5000) cannot exceed 4096. Please try again'), 4_096],
  ['Baidu', { body: { error_code: 336007, error_msg: 'prompt tokens too long' } }, undefined],
  ['a size in thousands', sentence("This model's maximum context length is 256K tokens."), 256_000],
  ['a size in thousands, apart', sentence('The context window of 262 k tokens is exceeded'), 262_000],
  ['a size in millions', sentence('Prompt is too long: the maximum context window is 1.5M tokens'), 1_500_000],
  ['a size in small thousands', sentence('Prompt is too long for the 32k context window of the model'), 32_000],
  ['a size with points', sentence('The prompt exceeds the maximum context length of 262.144 tokens'), undefined],
  ['a size of something else', sentence('The prompt exceeds the context length; 4096MB of memory are free'), undefined],
  ['a model in its name', sentence('Prompt is too long for the context window of 4096x'), undefined],
  ['how much too long it is', sentence('The prompt exceeds the context window by 1200 tokens'), undefined],
  [
    'how much too long it is, and the size',
    sentence('Exceeds the context window by 1200 tokens; the limit is 32768 tokens'),
    32_768,
  ],
  ['a number with commas', sentence("This model's maximum context length is 1,048,576 tokens."), 1_048_576],
  [
    'Anthropic, too many bytes',
    { status: 413, body: { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } } },
    undefined,
  ],
  ['a gateway in front of it', { status: 413, body: { message: 'Request Entity Too Large' } }, undefined],
];

describe('a full window is recognised', () => {
  it.each(FULL)('in the words of %s', async (_, refusal, size) => {
    const failed = await failure(ask(refusal));
    expect(failed).toMatchObject({ code: 'context_window_full', recoverable: false });
    expect(failed.context_window).toBe(size);
  });

  it('within a stream', async () => {
    const [, { body }] = FULL[0]!;
    server.script(
      (response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(body)}\n\n`),
    );
    expect(await failure(reply({ base_url: server.url }))).toMatchObject({ code: 'context_window_full', context_window: 8_192 });
  });
});

it.each(['prompt ', 'exceed context ', '1,', 'maximum context length ', 'input tokens ', 'reached context length of '])(
  'a refusal that repeats %j is read in a time in proportion to it',
  async (words) => {
    expect(await failure(ask({ body: openai(words.repeat(100_000)) }))).toMatchObject({ recoverable: false });
  },
);

describe('not a full window', () => {
  it.each<[string, Refusal]>([
    [
      'a limit of tokens per minute',
      {
        status: 413,
        body: openai(
          'Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again.',
          'rate_limit_exceeded',
          'tokens',
        ),
      },
    ],
    ['a rate limit', sentence('Rate limit reached: the maximum context length of all requests', 429)],
    ['an output limit', sentence('max_tokens is too large: 100000. This model supports at most 16384 completion tokens')],
    [
      'a text that is too long',
      {
        body: openai(
          "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024",
          'string_above_max_length',
        ),
      },
    ],
    ['a list that is too long', sentence("Invalid 'stop': array too long. Expected an array with maximum length 4")],
    ['a name that is too long', sentence("Invalid 'tools[0].function.name': string too long")],
    ['a schema', sentence("Invalid schema for function 'look': array schema missing items")],
    ...[
      'The parameter `max_tokens` specified in the request is not valid: expected a value <= 32768, but got 65536 instead.',
      'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4',
      'The maximum tokens you requested exceeds the model limit of 10000. Try again with a maximum tokens value that is lower.',
      'Range of max_tokens should be [1, 8192]',
      'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 to 8193.',
      '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window`',
      'Could not finish the message because max_tokens or model output limit was reached.',
    ].map((text): [string, Refusal] => [`an output limit: ${text}`, sentence(text)]),
    ...[
      "Invalid 'input[3].name': string too long. Expected a string with maximum length 64, but got 70 instead.",
      "The request's tool name is too long",
      'number of input images exceeds the limit of 10',
      'image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
    ].map((text): [string, Refusal] => [`a part that is too long: ${text}`, sentence(text)]),
    [
      'Bedrock, which asks to wait',
      { body: { __type: 'ThrottlingException', message: 'Too many tokens, please wait before trying again.' } },
    ],
    ['a key', { status: 401, body: openai('Incorrect API key provided; the input is too long') }],
  ])('%s', async (_, refusal) => {
    expect((await failure(ask(refusal))).code).not.toBe('context_window_full');
  });
});
