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
  /** The vendor's name in the table of known models, which has its list prices; null: it is not in the table. */
  catalogue: string | null;
}

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
    catalogue: null,
  },
];

const toPreset = ({ catalogue: _, first_model: __, ...preset }: KnownVendor): VendorPreset => preset;

export const PROVIDER_PRESETS: readonly VendorPreset[] = VENDORS.map(toPreset);

/** Returns the presets with a model to begin with. `choose` returns the choice from the catalogue among the models of a vendor. */
export const presetsWithModels = (choose: (vendor: string) => string | null) =>
  VENDORS.map((vendor) => ({ ...toPreset(vendor), model_example: nameFirstModel(vendor.first_model, choose) }));

function nameFirstModel(first: FirstModel, choose: (vendor: string) => string | null): string {
  if ('name' in first) return first.name;
  const chosen = choose(first.of);
  return chosen === null ? '' : `${first.prefix}${chosen}`;
}

/** The fields that show which vendor a provider leads to. */
export interface ProviderAddress {
  provider_type: string;
  base_url: string | null;
}

/** Finds the vendor that owns this address. The Region of Bedrock is part of its host. */
export const findVendor = ({ provider_type, base_url }: ProviderAddress): KnownVendor | undefined =>
  VENDORS.find((vendor) =>
    base_url === null
      ? vendor.base_url === null && vendor.provider_type === provider_type
      : vendor.base_url !== null && toVendorHost(vendor.base_url) === toVendorHost(base_url),
  );

const toVendorHost = (url: string) => URL.parse(url)?.host.replace(/^bedrock-runtime\.[^.]+\./, 'bedrock-runtime.');

export const OPENAI_HOST = 'api.openai.com';

export const toHost = ({ base_url }: ProviderAddress): string => (base_url && URL.parse(base_url)?.hostname) || '';

/**
 * Returns the name of a provider's vendor in the table of known models; null unless its list prices apply, because the provider
 * is the vendor itself.
 */
export function findCatalogue(provider: ProviderAddress): string | null {
  if (provider.base_url === null && provider.provider_type === 'anthropic') return 'anthropic';
  return findVendor(provider)?.catalogue ?? null;
}
