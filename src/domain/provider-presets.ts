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

/**
 * The rules for schemas of tools. `gemini`: a subset of OpenAPI 3.0. `moonshot`: the subset that it publishes. `local`: patterns that become
 * grammars. `standard`: those that all others share.
 */
export type SchemaFamily = 'standard' | 'gemini' | 'moonshot' | 'local';

/** What a vendor accepts as a tool. */
export interface ToolRules {
  family: SchemaFamily;
  /** The names of parameters. `plain`: at most 64 letters, digits, points, underscores and dashes. */
  keys: 'any' | 'plain';
  /** The first character of a name. */
  names: 'any' | 'no_digit_first' | 'letter_first';
  /** The length of a description; null: no known limit. */
  most_description: number | null;
}

/** A vendor's known properties: enough to fill in a provider. */
interface VendorPreset {
  id: string;
  name: string;
  provider_type: 'openai' | 'openai_compatible' | 'anthropic_messages';
  /** The address; null: the vendor's own. */
  base_url: string | null;
  /** The kind of key it takes, and where people get it; null: none is needed. */
  key_hint: string | null;
  /** The features that the vendor rejects or names differently, one sentence each. */
  differences: string[];
  docs_url: string;
}

/** A model to begin with: a name, or a choice from the catalogue among the models of a vendor, with a text before its name. */
type FirstModel = { name: string } | { of: string; prefix: string };

interface KnownVendor extends VendorPreset {
  first_model: FirstModel;
  dialect: Partial<Dialect>;
  /** The vendor's name in the table of known models, which has its list prices; null: it is not in the table. */
  catalogue: string | null;
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

const VENDORS: readonly KnownVendor[] = [
  {
    id: 'openai',
    name: 'OpenAI',
    provider_type: 'openai',
    base_url: null,
    key_hint: 'A secret key (sk-…) from platform.openai.com/api-keys',
    first_model: { of: 'openai', prefix: '' },
    differences: [
      'The output limit is sent as max_completion_tokens.',
      'Reasoning models refuse temperature, top_p, stop and parallel_tool_calls.',
    ],
    docs_url: 'https://platform.openai.com/docs/api-reference/chat',
    dialect: {},
    catalogue: 'openai',
  },
  {
    id: 'anthropic',
    name: 'Anthropic',
    provider_type: 'anthropic_messages',
    base_url: null,
    key_hint: 'An API key (sk-ant-…) from console.anthropic.com',
    first_model: { of: 'anthropic', prefix: '' },
    differences: [
      'Uses the Messages API. It requires max_tokens: 8192 unless max_output_tokens is set.',
      'temperature is at most 1. It takes either temperature or top_p; if both are set, only temperature is sent.',
      'Models from 4.7 on, and models that think, refuse both.',
      'reasoning_effort is sent as output_config.effort with adaptive thinking, which older models refuse.',
      'Signed thinking is sent back with the results of its calls.',
    ],
    docs_url: 'https://platform.claude.com/docs/en/api/messages',
    dialect: {},
    catalogue: 'anthropic',
  },
  {
    id: 'gemini',
    name: 'Gemini',
    provider_type: 'openai_compatible',
    base_url: 'https://generativelanguage.googleapis.com/v1beta/openai',
    key_hint: 'A Gemini API key from aistudio.google.com',
    first_model: { of: 'google', prefix: '' },
    differences: [
      'Gemini 3 refuses a call without the thought_signature that it came with; Perdura sends it back.',
      'Errors arrive as a list of one.',
    ],
    docs_url: 'https://ai.google.dev/gemini-api/docs/openai',
    dialect: {},
    catalogue: 'google',
  },
  {
    id: 'mistral',
    name: 'Mistral',
    provider_type: 'openai_compatible',
    base_url: 'https://api.mistral.ai/v1',
    key_hint: 'An API key from console.mistral.ai',
    first_model: { of: 'mistral', prefix: '' },
    differences: [
      'Ids of tool calls must be nine letters or digits; Perdura maps its own.',
      'Refuses every field that it does not know, such as stream_options and max_completion_tokens.',
      "Refuses a user's message right after the result of a tool; a reminder becomes part of the result.",
    ],
    docs_url: 'https://docs.mistral.ai/api/',
    dialect: { asks_usage: false, strict_calls: true },
    catalogue: 'mistral',
  },
  {
    id: 'openrouter',
    name: 'OpenRouter',
    provider_type: 'openai_compatible',
    base_url: 'https://openrouter.ai/api/v1',
    key_hint: 'An API key (sk-or-…) from openrouter.ai/keys',
    first_model: { of: 'openai', prefix: 'openai/' },
    differences: [
      'Model names begin with the vendor. Prices differ by route, so enter a price_table.',
      'reasoning_details come back with the results of their calls.',
      'Answers 404 if no route of a model takes tools.',
    ],
    docs_url: 'https://openrouter.ai/docs/api-reference/overview',
    dialect: {},
    catalogue: null,
  },
  {
    id: 'ollama',
    name: 'Ollama',
    provider_type: 'openai_compatible',
    base_url: 'http://localhost:11434/v1',
    key_hint: null,
    first_model: { name: 'llama3.2' },
    differences: [
      'Needs no key. Pull a model before its first use: ollama pull llama3.2.',
      'Refuses tools for models whose template has none.',
      'Cuts prompts to the context length the server was started with: set OLLAMA_CONTEXT_LENGTH there and context_window here.',
    ],
    docs_url: 'https://docs.ollama.com/api/openai-compatibility',
    dialect: {},
    catalogue: null,
  },
  {
    id: 'bedrock',
    name: 'Amazon Bedrock',
    provider_type: 'openai_compatible',
    base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1',
    key_hint: 'An Amazon Bedrock API key of the Region in base_url, not an access key of AWS',
    first_model: { name: 'openai.gpt-oss-120b-1:0' },
    differences: [
      'Put your Region into base_url. Only models that Bedrock offers through the Chat Completions API work.',
      'bedrock-runtime lists no models, so enter the default model by hand.',
      'The output limit is sent as max_completion_tokens.',
    ],
    docs_url: 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html',
    dialect: { max_tokens: 'max_completion_tokens' },
    catalogue: null,
  },
];

const toPreset = ({ dialect: _, catalogue: __, first_model: ___, ...preset }: KnownVendor): VendorPreset => preset;

export const PROVIDER_PRESETS: readonly VendorPreset[] = VENDORS.map(toPreset);

/** Returns the presets with a model to begin with. `choose` returns the choice from the catalogue among the models of a vendor. */
export const presetsWithModels = (choose: (vendor: string) => string | null) =>
  VENDORS.map((vendor) => ({ ...toPreset(vendor), model_example: nameFirstModel(vendor.first_model, choose) }));

function nameFirstModel(first: FirstModel, choose: (vendor: string) => string | null): string {
  if ('name' in first) return first.name;
  const chosen = choose(first.of);
  return chosen === null ? '' : `${first.prefix}${chosen}`;
}

interface Endpoint {
  provider_type: string;
  base_url: string | null;
}

/** Finds the vendor that owns this address. The Region of Bedrock is part of its host. */
const findVendor = ({ provider_type, base_url }: Endpoint): KnownVendor | undefined =>
  VENDORS.find((vendor) =>
    base_url === null
      ? vendor.base_url === null && vendor.provider_type === provider_type
      : vendor.base_url !== null && toVendorHost(vendor.base_url) === toVendorHost(base_url),
  );

const toVendorHost = (url: string) => URL.parse(url)?.host.replace(/^bedrock-runtime\.[^.]+\./, 'bedrock-runtime.');

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

const toHost = ({ base_url }: Endpoint): string => (base_url && URL.parse(base_url)?.hostname) || '';

/** Returns the request format that the endpoint expects for a model; without a provider, that of the default runtime. */
export function getDialect(provider: Endpoint | null, model: string): Dialect {
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
    ...vendor?.dialect,
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

function listOwnFields(provider: Endpoint, model: string): string[] {
  const is_openai = provider.base_url === null ? provider.provider_type === 'openai' : toHost(provider) === OPENAI_HOST;
  // Azure serves models of others there, which refuse the fields.
  const is_azure = AZURE_V1.test(provider.base_url ?? '') && /^(?:gpt-(?!oss)|o\d)/i.test(model);
  if (!is_openai && !is_azure) return [];
  return ['service_tier', 'prompt_cache_key', ...(VERBOSE_MODELS.test(model) ? ['verbosity'] : [])];
}

const GEMINI_MODELS = /(?:^|\/)gemini/i;
const CLAUDE_MODELS = /(?:^|[./])claude/i;
const MOONSHOT_MODELS = /(?:^|\/)(?:kimi|moonshot)/i;
const MOONSHOT_HOSTS = /(?:^|\.)(?:moonshot\.(?:ai|cn)|kimi\.com)$/;
/** The vendors that take a name with a digit first. */
const TAKE_DIGITS = ['openai', 'mistral'];
const OPENAI_DESCRIPTION = 1_024;
const OPENAI_HOST = 'api.openai.com';
/** Matches OpenAI's models at gateways; its open models are served by others. */
const OPENAI_MODELS = /(?:^|\/)openai\/(?!gpt-oss)/i;

/** True if a model takes either `temperature` or `top_p`: its vendor refuses both at once. */
export const takesOneSampling = (model: string): boolean => CLAUDE_MODELS.test(model);

/** Returns what an endpoint accepts as a tool of a model. A gateway passes on the rules of the vendor behind it. */
export function getToolRules(provider: Endpoint | null, model: string): ToolRules {
  const vendor = provider && findVendor(provider);
  const host = provider ? toHost(provider) : '';
  const native = provider?.provider_type === 'openai' || provider?.provider_type === 'azure_openai' || host === OPENAI_HOST;
  const rules = { keys: 'any', names: 'no_digit_first', most_description: null } as const;
  if (vendor?.id === 'gemini' || GEMINI_MODELS.test(model)) return { ...rules, family: 'gemini' };
  if (MOONSHOT_HOSTS.test(host) || MOONSHOT_MODELS.test(model)) return { ...rules, family: 'moonshot', names: 'letter_first' };
  const is_claude = provider?.provider_type.startsWith('anthropic') || CLAUDE_MODELS.test(model);
  if (is_claude) return { ...rules, family: 'standard', keys: 'plain', names: 'any' };
  if (native || TAKE_DIGITS.includes(vendor?.id ?? ''))
    return { ...rules, family: 'standard', names: 'any', most_description: native ? OPENAI_DESCRIPTION : null };
  if (OPENAI_MODELS.test(model)) return { ...rules, family: 'standard', most_description: OPENAI_DESCRIPTION };
  const is_local = provider !== null && (vendor?.id === 'ollama' || !vendor);
  return { ...rules, family: is_local ? 'local' : 'standard' };
}

/**
 * Returns the name of a provider's vendor in the table of known models; null unless its list prices apply, because the provider
 * is the vendor itself.
 */
export function findCatalogue(provider: Endpoint): string | null {
  if (provider.base_url === null && provider.provider_type === 'anthropic') return 'anthropic';
  return findVendor(provider)?.catalogue ?? null;
}
