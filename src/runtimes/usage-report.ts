import { tokenCount } from '../domain/normalise.ts';
import type { ExchangeUsage } from '../domain/usage.ts';

type Json = Record<string, unknown>;

/** Vendors' names for each count. A dot leads into an object. */
const INPUT = [
  ...['prompt_tokens', 'input_tokens', 'promptTokens', 'inputTokens', 'promptTokenCount', 'inputTokenCount', 'prompt_eval_count'],
  ...[
    'input_token_count',
    'prompt_token_count',
    'tokens.input_tokens',
    'billed_units.input_tokens',
    'num_input_tokens',
    'prompt_n',
  ],
];
const OUTPUT = [
  ...['completion_tokens', 'output_tokens', 'completionTokens', 'outputTokens', 'candidatesTokenCount', 'outputTokenCount'],
  ...['output_token_count', 'completion_token_count', 'eval_count', 'generated_token_count', 'tokens.output_tokens'],
  ...['billed_units.output_tokens', 'generated_tokens', 'num_output_tokens', 'predicted_n'],
];
const TOTAL = ['total_tokens', 'totalTokens', 'totalTokenCount', 'total_token_count'];
const CACHED = [
  ...['prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens', 'input_token_details.cache_read'],
  ...[
    'prompt_cache_hit_tokens',
    'cached_tokens',
    'num_cached_tokens',
    'cachedContentTokenCount',
    'prompt_tokens_details.cache_read_tokens',
  ],
  ...['cached_prompt_tokens', 'promptTokensDetails.cachedTokens'],
];
const WRITTEN = [
  ...['prompt_tokens_details.cache_write_tokens', 'prompt_tokens_details.cache_creation_tokens', 'cache_write_tokens'],
  ...['input_tokens_details.cache_creation_tokens', 'prompt_tokens_details.cache_creation_input_tokens'],
];
/** These vendors do not count cached tokens among those of the input. */
const CACHED_APART = ['cache_read_input_tokens', 'cacheReadInputTokens', 'cacheReadInputTokenCount', 'cache_n'];
const WRITTEN_APART = ['cache_creation_input_tokens', 'cacheWriteInputTokens', 'cacheWriteInputTokenCount'];
const REASONING = [
  ...['completion_tokens_details.reasoning_tokens', 'output_tokens_details.reasoning_tokens', 'reasoning_tokens'],
  ...['thoughtsTokenCount', 'completionTokensDetails.reasoningTokens'],
];

/** Where endpoints put the usage of an answer. An empty path is the chunk itself. */
const PLACES = [
  ...['usage', 'choices.0.usage', 'x_groq.usage', 'usageMetadata', 'usage_metadata', 'message.usage', 'choices.0.delta.usage'],
  ...['choices.0.message.usage', 'response.usage', 'token_usage', 'meta.tokens', 'meta.billed_units', 'meta.usage', 'meta'],
  ...['amazon-bedrock-invocationMetrics', 'metrics', 'details', 'timings', ''],
];

const read = (value: unknown, path: string): unknown =>
  path === '' ? value : path.split('.').reduce<unknown>((inner, name) => (Object(inner) as Json)[name], value);

const find = (usage: unknown, names: readonly string[]): number =>
  names.map((name) => tokenCount(toNumber(read(usage, name)))).find((count) => count > 0) ?? 0;

const toNumber = (value: unknown): unknown => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value);

interface ReportedUsage {
  usage: ExchangeUsage;
  /** True if only the total is known, which `usage` has as input. */
  is_total: boolean;
}

/** Finds the usage that a chunk or an answer reports, in any place and spelling; null if it reports none, or only zeros. */
export function findUsage(chunk: object): ReportedUsage | null {
  for (const place of PLACES) {
    const usage = read(chunk, place);
    if (typeof usage !== 'object' || usage === null) continue;
    const found = toReportedUsage(usage);
    if (found.usage.total_in + found.usage.total_out > 0) return found;
  }
  return null;
}

function toReportedUsage(usage: object): ReportedUsage {
  const [apart_read, apart_write] = [find(usage, CACHED_APART), find(usage, WRITTEN_APART)];
  const included = find(usage, CACHED);
  const [counted_in, counted_out, total] = [find(usage, INPUT), find(usage, OUTPUT), find(usage, TOTAL)];
  // A proxy may report both spellings; then the input includes what is cached.
  const is_apart = included === 0 && !('prompt_tokens' in usage);
  const named_in = counted_in + (is_apart ? apart_read + apart_write : 0);
  const total_in = named_in || Math.max(0, total - counted_out);
  // Some vendors count reasoning only in the total, some only by itself.
  const missing_out = total > 0 ? total - total_in - counted_out : 'thoughtsTokenCount' in usage ? find(usage, REASONING) : 0;
  const cache_read = Math.min(total_in, included || apart_read);
  return {
    usage: {
      total_in,
      total_out: counted_out + Math.max(0, missing_out),
      cache_read,
      cache_write: Math.min(total_in - cache_read, find(usage, WRITTEN) || apart_write),
    },
    is_total: total > 0 && named_in + counted_out === 0,
  };
}
