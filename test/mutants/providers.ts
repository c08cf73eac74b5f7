import type { Mutant } from './mutant.ts';

const vendors = (name: string) => [{ file: 'test/runtimes/vendors.test.ts', name }];
const messages = (name: string) => [{ file: 'test/runtimes/messages.test.ts', name }];
const check = (name: string) => [{ file: 'test/api/provider-check.test.ts', name }];

export default [
  {
    id: 'providers/signatures',
    file: 'src/runtimes/chat-reply.ts',
    text: 'if (extra_content) extras.set(call, extra_content);',
    replacement: '',
    harm: 'Every run with tools at Gemini 3 fails at its second step.',
    tests: vendors('thought_signature of Gemini, at the call it came with'),
  },
  {
    id: 'providers/call-ids',
    file: 'src/runtimes/call-ids.ts',
    text: "padStart(6, '0')",
    replacement: "padStart(7, '0')",
    harm: 'Ids of calls rest on a short hash, so that two calls of a long run can share one.',
    tests: vendors('is another one for each call, and the same for the same'),
  },
  {
    id: 'providers/thinking-in-place',
    file: 'src/runtimes/messages-request.ts',
    text: 'if (!blocks || calls.length === 0) return',
    replacement: 'if (!blocks || calls.length > 0) return',
    harm: 'Anthropic refuses the second step of a run whose model thinks.',
    tests: vendors('signed and redacted thinking of Anthropic, in its place among text and calls'),
  },
  {
    id: 'providers/cut-arguments',
    file: 'src/runtimes/messages-reply.ts',
    text: 'block.arguments += counted(textOf(delta.partial_json));',
    replacement: '',
    harm: 'Every tool is called without arguments at Anthropic.',
    tests: messages('keeps calls whose arguments are not JSON as the model wrote them'),
  },
  {
    id: 'providers/lost-arguments',
    file: 'src/domain/normalise.ts',
    text: "calls: (finish === 'length' ? withCutCall(calls) : calls).map(normalCall),",
    replacement: 'calls: calls.map(normalCall),',
    harm: 'A tool with optional arguments is called with their defaults, because those that the model chose were cut off.',
    tests: messages('does not make a call that lost all its arguments at the output limit one without arguments'),
  },
  {
    id: 'providers/endless-blocks',
    file: 'src/runtimes/messages-reply.ts',
    text: "if (blocks.length > MOST_BLOCKS) throw new OutsideRefused(TOO_MANY_BLOCKS, 'model_answer_too_large');",
    replacement: '',
    harm: 'A hostile endpoint fills the memory of a worker with empty blocks.',
    tests: messages('is broken off if it has too many blocks or calls'),
  },
  {
    id: 'providers/broken-off',
    file: 'src/runtimes/messages-reply.ts',
    text: "if (!reply.finish) throw unusable('The model broke off its answer', 'model_stream_cut', true);",
    replacement: '',
    harm: 'Half an answer of Anthropic counts as the answer.',
    tests: messages('that breaks off is asked for again, and what it cost is known'),
  },
  {
    id: 'providers/unread-answers',
    file: 'src/runtimes/bounded.ts',
    text: '?? unreadable(error)',
    replacement: '?? error',
    harm: 'A run whose answer cannot be read pays for five of them without a line in its log, and ends with an internal error.',
    tests: [
      {
        file: 'test/runtimes/odd-answers.test.ts',
        name: 'whatever else goes wrong with an answer is a failure of the model, which is retried at most twice',
      },
    ],
  },
  {
    id: 'providers/limit-name',
    file: 'src/runtimes/chat-request.ts',
    text: '[dialect.max_tokens]: max_output_tokens',
    replacement: 'max_tokens: max_output_tokens',
    harm: "OpenAI's reasoning models refuse every run with an output limit.",
    tests: vendors('that a reasoning model refuses fail with its words, and are not retried'),
  },
  {
    id: 'providers/web-page',
    file: 'src/runtimes/provider-check.ts',
    text: 'return { models: [], fault: webPageFault(asked) };',
    replacement: 'return { models: [], fault: null };',
    harm: "A provider whose base_url is the vendor's site passes its test.",
    tests: check('a web page'),
  },
  {
    id: 'providers/nothing-cached',
    file: 'src/runtimes/messages-request.ts',
    text: 'kept: continues ? KEPT_TURNS : 0 }',
    replacement: 'kept: 0 }',
    harm: 'Each step of a long run pays for the whole transcript at the full price.',
    tests: [
      { file: 'test/runtimes/vendors.test.ts', name: 'is everything up to the instructions, and the ends of the last two turns' },
    ],
  },
  {
    id: 'providers/odd-models',
    file: 'src/runtimes/listed-models.ts',
    text: "if (typeof id !== 'string' || id === '') return [];",
    replacement: '',
    harm: 'A provider that lists a model without an id makes the list of models fail with a 500.',
    tests: [{ file: 'test/runtimes/odd-answers.test.ts', name: 'is a list or a refusal' }],
  },
  {
    id: 'providers/endless-models',
    file: 'src/runtimes/listed-models.ts',
    text: '=== MOST_MODELS',
    replacement: '=== MOST_MODELS * 2',
    harm: 'The test of a provider that lists models without end fills the memory of the API.',
    tests: [{ file: 'test/runtimes/model-pages.test.ts', name: 'is read up to a limit' }],
  },
  {
    id: 'providers/slow-models',
    file: 'src/runtimes/listed-models.ts',
    text: 'client.models.list({}, { signal })',
    replacement: 'client.models.list({})',
    harm: 'The test of a provider that lists one model a minute takes three days.',
    tests: [{ file: 'test/runtimes/model-pages.test.ts', name: 'is read for a limited time' }],
  },
  {
    id: 'providers/price-of-the-name-asked-for',
    file: 'src/domain/usage.ts',
    text: 'cost: costOf(usage, [model, asked], prices)',
    replacement: 'cost: costOf(usage, [model ?? asked], prices)',
    harm: 'A run of `gpt-4o`, which answers as `gpt-4o-2024-08-06`, costs nothing although the table has its price, and passes its budget.',
    tests: [
      {
        file: 'test/unit/rules.test.ts',
        name: 'takes the price of the model that was asked for if the answer has a longer name',
      },
    ],
  },
  {
    id: 'providers/torn-key',
    file: 'src/runtimes/clients.ts',
    text: 'if (fault) throw refusal(',
    replacement: 'if (!key) throw refusal(',
    harm: 'A stored key with a line break in it is reported as a fault of the model.',
    tests: [{ file: 'test/runtimes/chat-completions.test.ts', name: 'a key that no header can carry, without quoting it' }],
  },
] satisfies Mutant[];
