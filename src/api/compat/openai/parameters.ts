import { isDeepStrictEqual } from 'node:util';
import { CallSettingFields, type SetCallSettings } from '../../../contracts/call-settings.ts';
import type { Warning } from '../../../contracts/common.ts';
import { REASONING_EFFORTS, ReasoningEffort } from '../../../contracts/workflows.ts';
import { AppError } from '../../../domain/errors.ts';
import { isKnownEffort } from '../../../domain/known-models.ts';

/** The settings of a run that a parameter sets. If a request has several for one setting, the last of this list counts. */
const SETTINGS = new Map<string, keyof SetCallSettings>([
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['stop', 'stop'],
  ['max_tokens', 'max_output_tokens'],
  ['max_output_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['service_tier', 'service_tier'],
  ['verbosity', 'verbosity'],
]);

/** Parameters without which the reply would not be what the client reads: they are refused with every other value. */
const CHANGES_REPLY = [
  'audio',
  'function_call',
  'functions',
  'logprobs',
  'modalities',
  'n',
  'prompt',
  'top_logprobs',
  'web_search_options',
];

/** Parameters that do not affect the answer: strict handling accepts every value. */
const WITHOUT_EFFECT = ['user', 'safety_identifier', 'prompt_cache_key', 'store', 'include', 'seed'];

/** The parameters of OpenAI's API, and their values that request what happens anyway. */
const USUAL = new Map<string, unknown[]>(
  Object.entries({
    audio: [],
    frequency_penalty: [0],
    function_call: ['none', 'auto'],
    functions: [[]],
    include: [[]],
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
    prompt: [],
    prompt_cache_key: [],
    prompt_cache_retention: [],
    safety_identifier: [],
    seed: [],
    service_tier: ['auto', 'default'],
    stop: [[]],
    store: [true],
    stream_options: [{}, { include_obfuscation: false }],
    temperature: [1],
    top_logprobs: [0],
    top_p: [1],
    truncation: ['disabled'],
    user: [],
    verbosity: ['medium'],
    web_search_options: [],
  }),
);

const MOST_WARNINGS = 20;

interface Reading {
  /** The parameters that the operation itself reads. */
  honoured: readonly string[];
  /** True if every parameter that changes the workflow's settings, and every unknown one, refuses the request. */
  strict: boolean;
}

export interface ParsedParameters {
  /** The settings of the run's model calls that the request asks for, instead of the workflow's own. */
  call_settings?: SetCallSettings;
  warnings: Warning[];
}

/**
 * Reads the parameters that clients always send. A run gets those that it has a setting for. Others are accepted with a warning,
 * except those that change what the reply contains. Strict handling refuses both kinds, except usual values and parameters that
 * do not affect the answer, as OpenAI's reasoning models refuse a temperature.
 */
export function parseParameters(body: Record<string, unknown>, { honoured, strict }: Reading): ParsedParameters {
  const settings: Record<string, unknown> = {};
  const warnings: Warning[] = [];
  const names = [...SETTINGS.keys()];
  for (const [param, value] of Object.entries(body).sort(([a], [b]) => names.indexOf(a) - names.indexOf(b))) {
    if (value === null || value === undefined || honoured.includes(param)) continue;
    const setting = SETTINGS.get(param);
    // The usual value of a setting still replaces the workflow's own.
    if ((strict || !setting) && USUAL.get(param)?.some((same) => isDeepStrictEqual(value, same))) continue;
    if (strict && WITHOUT_EFFECT.includes(param)) continue;
    if (strict || CHANGES_REPLY.includes(param)) throw createRefusal(param);
    if (!setting) warnings.push(createWarning(param, describeNoEffect(param)));
    else if (setting === 'max_output_tokens' && Number(value) <= 0)
      warnings.push(createWarning(param, `${param} is not positive, so the limit of the workflow applies`));
    else settings[setting] = parseSetting(param, setting, value);
  }
  return { ...(Object.keys(settings).length > 0 ? { call_settings: settings } : {}), warnings: warnings.slice(0, MOST_WARNINGS) };
}

/** Returns the effort of a run. A word that no model is known to take is sent with a warning, or refused if `strict`. */
export function parseEffort(effort: string | null | undefined, param: string, strict: boolean) {
  if (effort === null || effort === undefined) return { warnings: [] };
  if (!ReasoningEffort.safeParse(effort).success)
    throw createInvalid(param, `${param} is a word such as ${REASONING_EFFORTS.join(', ')}`);
  if (isKnownEffort(effort)) return { reasoning_effort: effort, warnings: [] };
  if (strict)
    throw createInvalid(param, `No model is known to take ${effort}; ${param} is a word such as ${REASONING_EFFORTS.join(', ')}`);
  return {
    reasoning_effort: effort,
    warnings: [createWarning(param, `No model is known to take ${effort}; it is sent as it is`)],
  };
}

function parseSetting(param: string, setting: keyof SetCallSettings, value: unknown): unknown {
  const read = CallSettingFields[setting].safeParse(setting === 'stop' && typeof value === 'string' ? [value] : value);
  if (read.success) return read.data;
  throw createInvalid(param, `${param} is not valid: ${read.error.issues[0]!.message}`);
}

const createWarning = (param: string, message: string): Warning => ({ path: param.slice(0, 100), message });

const describeNoEffect = (param: string) =>
  USUAL.has(param)
    ? `${param} has no effect: a run has no setting for it`
    : `${param.slice(0, 100)} is not a parameter of this API; it was ignored`;

const createInvalid = (param: string, message: string) =>
  new AppError('invalid', message, { code: 'invalid_value', errors: [{ path: param, message }] });

function createRefusal(param: string): AppError {
  const is_known = USUAL.has(param);
  const message = is_known
    ? `${param} is not supported with this value: the agent's own settings apply; leave it out`
    : `Unknown parameter: ${param}`;
  return new AppError('invalid', message, {
    code: is_known ? 'unsupported_value' : 'unknown_parameter',
    errors: [{ path: param, message }],
  });
}
