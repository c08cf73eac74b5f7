/** The reasons why an answer ended, in the vocabulary of chat completions; `failed` and `bad_tool_call` are failures of the endpoint. */
type Finish = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal' | 'failed' | 'bad_tool_call';

/** The words of each vendor, in lower case with underscores. */
const WORDS: Record<Finish, readonly string[]> = {
  stop: [
    'stop',
    'end_turn',
    'stop_sequence',
    'eos',
    'eos_token',
    'complete',
    'completed',
    'normal',
    'word',
    'end',
    'pause_turn',
    'finished',
    ...['eos_found', 'stop_string_found', 'end_of_turn', 'end_of_text', 'turn_complete'],
  ],
  length: [
    ...['length', 'max_tokens', 'max_output_tokens', 'model_length', 'max_length', 'token_limit', 'limit', 'context_length'],
    ...['model_context_window_exceeded', 'max_new_tokens', 'max_completion_tokens'],
  ],
  tool_calls: ['tool_calls', 'tool_call', 'tool_use', 'function_call', 'tool', 'tools'],
  content_filter: [
    ...['content_filter', 'content_filtered', 'safety', 'recitation', 'blocklist', 'prohibited_content', 'spii', 'image_safety'],
    ...['sensitive', 'guardrail_intervened', 'error_toxic', 'moderation', 'language'],
  ],
  refusal: ['refusal'],
  failed: [
    ...['error', 'insufficient_system_resource', 'network_error', 'abort', 'aborted', 'cancelled', 'canceled', 'user_cancel'],
    ...[
      'timeout',
      'time_limit',
      'error_limit',
      'other',
      'load',
      'unload',
      'failed',
      'server_error',
      'internal_error',
      'overloaded',
    ],
  ],
  bad_tool_call: [
    ...['malformed_function_call', 'malformed_tool_use', 'malformed_tool_call', 'malformed_model_output', 'malformed_response'],
    ...['unexpected_tool_call', 'too_many_tool_calls', 'missing_thought_signature', 'invalid_tool_call', 'tool_call_error'],
  ],
};

const FINISHES = new Map(
  Object.entries(WORDS).flatMap(([finish, words]) => words.map((word) => [word, finish as Finish] as const)),
);

/** Words for an answer that continues. */
const GOING_ON = ['', 'null', 'none', 'not_finished', 'unspecified', 'in_progress', 'incomplete'];

/** Later words of vendors, by their parts. */
const PARTS: [RegExp, Finish][] = [
  [/rate_?limit|unload|shut_?down/, 'failed'],
  [/malformed|(?:invalid|bad)_(?:tool|function)/, 'bad_tool_call'],
  [/filter|safety|prohibit|sensitive|moderat|guardrail|blocked/, 'content_filter'],
  [/length|max_|(?:token|context|output)_?(?:limit|window)/, 'length'],
  [/error|fail|abort|cancel|time_?d?_?out|insufficient|interrupt|overload|unavailable/, 'failed'],
];

/**
 * Returns an endpoint's reason in the vocabulary of chat completions. Empty: the answer continues. An unknown word is returned as it
 * is.
 */
export function parseFinish(value: unknown): string {
  const name = nameFinish(value);
  const words = name.split(/[:.]/).map(toWord);
  const word = words.at(-1)!;
  if (words.every((it) => GOING_ON.includes(it))) return '';
  return FINISHES.get(word) ?? PARTS.find(([part]) => part.test(word))?.[1] ?? name.trim();
}

/** Returns the endpoint's own word for the end of an answer. SGLang sends an object that has it as its type. */
export function nameFinish(value: unknown): string {
  const { type, reason } = Object(value) as { type?: unknown; reason?: unknown };
  return [value, type, reason].find((word) => typeof word === 'string') ?? '';
}

const toWord = (text: string): string =>
  text
    .trim()
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^(?:finish_reason|stop_reason|finishreason)_/, '');

/** True for a reason that is not in the vocabulary. */
export const isUnknownFinish = (finish: string): boolean => !Object.hasOwn(WORDS, finish);

/** True if the endpoint says that it could not answer. */
export const isFailedFinish = (finish: string): boolean => finish === 'failed' || finish === 'bad_tool_call';
