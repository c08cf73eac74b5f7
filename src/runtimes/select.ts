import OpenAI from 'openai';
import type { Definition, PinnedProvider, PriceTable } from '../domain/definition.ts';
import { databaseIsAway } from '../domain/errors.ts';
import { chatCompletions } from './chat-completions.ts';
import { ModelFailure, type ModelRuntime } from './runtime.ts';

export interface DefaultRuntime {
  base_url: string;
  model: string | null;
}

export interface RuntimeOptions {
  default_runtime: DefaultRuntime;
  /** Every request to a provider goes through it, so it is where egress is guarded. */
  fetch?: typeof globalThis.fetch;
}

/** In whose name a model is called. */
export interface Caller {
  /** The caller's own access token; null when the run has none. */
  access_token: string | null;
  /** Opens a stored token by name; throws a sentence when it may not be used. */
  openToken(name: string): Promise<string>;
}

export interface SelectedRuntime {
  runtime: ModelRuntime;
  prices: PriceTable;
  /** The default runtime knows no custom tools. */
  custom_tools: boolean;
  /** The runtime keeps the conversation on its own side, so there is nothing to compact here. */
  keeps_context?: boolean;
}

const TIMEOUT_MS = 120_000;

const refusal = (message: string, code = 'no_provider_key') => new ModelFailure(message, { code, recoverable: false });

/** The one place that knows which provider means which runtime, and which tools it is given. */
export async function selectRuntime(
  { provider }: Pick<Definition, 'provider'>,
  caller: Caller,
  { default_runtime, fetch }: RuntimeOptions,
): Promise<SelectedRuntime> {
  if (!provider) {
    if (!caller.access_token)
      throw refusal("The default runtime is called with the caller's access token, and this run has none", 'no_access_token');
    const options = { baseURL: default_runtime.base_url, apiKey: caller.access_token, maxRetries: 0, timeout: TIMEOUT_MS };
    const client = new OpenAI({ ...options, ...(fetch ? { fetch } : {}) });
    return { runtime: chatCompletions({ client, default_model: default_runtime.model }), prices: {}, custom_tools: false };
  }
  const client = await providerClient(provider, caller, fetch);
  return {
    runtime: chatCompletions({ client, default_model: provider.default_model }),
    prices: provider.price_table,
    custom_tools: true,
  };
}

/** Stands where the SDK wants a key and the endpoint needs none; the header itself is left out. */
const NO_KEY = 'none';

/** The parts of a provider that lead to its endpoint. */
type Endpoint = Pick<PinnedProvider, 'name' | 'provider_type' | 'api_key_token_name' | 'base_url' | 'auth_type'>;

/** A client of a provider's endpoint, with the key opened in the caller's name. */
export async function providerClient(provider: Endpoint, caller: Caller, fetch?: typeof globalThis.fetch): Promise<OpenAI> {
  const key = await keyOf(provider, caller);
  const { base_url, auth_type } = provider;
  const defaultHeaders =
    auth_type === 'x-api-key' ? { 'x-api-key': key, authorization: null } : key ? {} : { authorization: null };
  const options = { maxRetries: 0, timeout: TIMEOUT_MS, apiKey: key ?? NO_KEY, defaultHeaders };
  return new OpenAI({ ...options, ...(base_url ? { baseURL: base_url } : {}), ...(fetch ? { fetch } : {}) });
}

/** Only an endpoint of the user's own may do without a key. */
async function keyOf(provider: Endpoint, caller: Caller): Promise<string | null> {
  if (provider.api_key_token_name) {
    return caller.openToken(provider.api_key_token_name).catch((error: Error) => {
      if (databaseIsAway(error)) throw error;
      throw refusal(`The provider ${provider.name} has no usable key: ${error.message}`);
    });
  }
  if (provider.provider_type === 'openai_compatible') return null;
  throw refusal(`The provider ${provider.name} has no key; store one and name it in api_key_token_name`);
}
