import { findVendor, OPENAI_HOST, type ProviderAddress, toHost } from './provider-presets.ts';

/** The differences between an endpoint's requests and those of OpenAI. */
export interface Dialect {
  /** The name of the field that limits the output. */
  max_tokens: 'max_tokens' | 'max_completion_tokens';
  /** True if a stream reports usage only on request. Vendors that always send it may reject the option. */
  asks_usage: boolean;
  /**
   * True if call ids must be nine letters or digits, a user's message must not follow a result directly, and other vendors'
   * fields are rejected.
   */
  strict_calls: boolean;
  /** True if calls must be sent back with the signature they came with, also calls that another model made. */
  signed_calls: boolean;
  /**
   * How reasoning is sent back with the calls that it led to: as `reasoning_content`, where a vendor knows it; `required`: also as a blank
   * for calls without; `none`: the vendor refuses the field.
   */
  reasoning: 'kept' | 'required' | 'none';
  /** True if the thinking in a text is sent back in the text. */
  thinks_in_text: boolean;
  /** The fields of OpenAI's own API that the endpoint is known to take for the model. Others refuse requests with fields they do not know. */
  own_fields: readonly string[];
}

const OPENAI: Dialect = {
  max_tokens: 'max_completion_tokens',
  asks_usage: true,
  strict_calls: false,
  signed_calls: false,
  reasoning: 'kept',
  thinks_in_text: false,
  own_fields: [],
};
const COMPATIBLE: Dialect = { ...OPENAI, max_tokens: 'max_tokens' };

/** What vendors are known to do differently, by the id of their preset. */
const VENDOR_DIALECTS: Record<string, Partial<Dialect>> = {
  mistral: { asks_usage: false, strict_calls: true },
  bedrock: { max_tokens: 'max_completion_tokens' },
};

/** Matches the models that check ids and order at every endpoint that serves them. */
const STRICT_MODELS = /(^|\/)(open-)?(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/i;

/** Matches Gemini from its third generation on. */
const SIGNING_MODELS = /^(models\/)?gemini-([3-9]|[1-9]\d)/i;

/** Matches the hosts that refuse every field of a message that they do not know. */
const REFUSES_REASONING = /(?:^|\.)(?:groq\.com|cerebras\.ai|mistral\.ai)$|^generativelanguage\.googleapis\.com$/;
/** Matches the hosts whose models think by default and then refuse calls without reasoning, also calls that another model made. */
const REQUIRES_REASONING = /(?:^|\.)(?:deepseek\.com|moonshot\.(?:ai|cn)|kimi\.com)$/;
/** Matches the models that want to read their thinking again. */
const TEXT_THINKERS = /(?:^|\/)minimax-m/i;

/** Returns the request format that the endpoint expects for a model; without a provider, that of the default runtime. */
export function getDialect(provider: ProviderAddress | null, model: string): Dialect {
  if (!provider) return COMPATIBLE;
  const native = provider.provider_type === 'openai' || provider.provider_type === 'azure_openai';
  const vendor = findVendor(provider);
  return {
    ...(native ? OPENAI : COMPATIBLE),
    strict_calls: STRICT_MODELS.test(model),
    signed_calls: vendor?.id === 'gemini' && SIGNING_MODELS.test(model),
    reasoning: findReasoningRule(toHost(provider), model),
    thinks_in_text: TEXT_THINKERS.test(model),
    own_fields: listOwnFields(provider, model),
    ...(vendor && VENDOR_DIALECTS[vendor.id]),
  };
}

function findReasoningRule(host: string, model: string): Dialect['reasoning'] {
  if (STRICT_MODELS.test(model) || REFUSES_REASONING.test(host)) return 'none';
  return REQUIRES_REASONING.test(host) ? 'required' : 'kept';
}

/** Matches Azure's own addresses with its current API. Dated versions of it are older than the fields. */
const AZURE_V1 = /^https:\/\/[^/]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)\/openai\/v1(?:\/|$)/i;
/** Matches the models of OpenAI that take a verbosity; earlier ones refuse it. */
const VERBOSE_MODELS = /^gpt-(?:[5-9]|1\d)/i;

function listOwnFields(provider: ProviderAddress, model: string): string[] {
  const is_openai = provider.base_url === null ? provider.provider_type === 'openai' : toHost(provider) === OPENAI_HOST;
  // Azure serves models of others there, which refuse the fields.
  const is_azure = AZURE_V1.test(provider.base_url ?? '') && /^(?:gpt-(?!oss)|o\d)/i.test(model);
  if (!is_openai && !is_azure) return [];
  return ['service_tier', 'prompt_cache_key', ...(VERBOSE_MODELS.test(model) ? ['verbosity'] : [])];
}
