import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../../domain/errors.ts';

/** Parameters that do not affect the answer, so every value is accepted. */
const WITHOUT_EFFECT = ['user', 'safety_identifier', 'prompt_cache_key', 'service_tier', 'store', 'include', 'seed'];

/** Parameters that are not honoured, and their values that request the default behaviour. */
const ONLY: Record<string, unknown[]> = {
  audio: [],
  frequency_penalty: [0],
  function_call: ['none', 'auto'],
  functions: [[]],
  logit_bias: [{}],
  logprobs: [false],
  max_completion_tokens: [],
  max_output_tokens: [],
  max_tokens: [],
  max_tool_calls: [],
  metadata: [{}],
  modalities: [['text']],
  n: [1],
  prediction: [],
  presence_penalty: [0],
  stop: [[]],
  temperature: [1],
  top_logprobs: [0],
  top_p: [1],
  truncation: ['disabled'],
  verbosity: ['medium'],
  web_search_options: [],
};

/**
 * Refuses parameters that a run would not honour, as OpenAI's reasoning models refuse a temperature: a client must not assume
 * that an answer follows its schema, its limits or its tools.
 */
export function refuseUnhonoured(body: Record<string, unknown>, honoured: readonly string[]): void {
  for (const [param, value] of Object.entries(body)) {
    if (value === null || value === undefined || honoured.includes(param) || WITHOUT_EFFECT.includes(param)) continue;
    const allowed_values = ONLY[param];
    if (allowed_values?.some((same) => isDeepStrictEqual(value, same))) continue;
    const message = allowed_values
      ? `${param} is not supported with this value: the agent's own settings apply; leave it out`
      : `Unknown parameter: ${param}`;
    const code = allowed_values ? 'unsupported_value' : 'unknown_parameter';
    throw new AppError('invalid', message, { code, errors: [{ path: param, message }] });
  }
}
