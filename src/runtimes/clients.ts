import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { AzureOpenAI } from 'openai';
import { isBrowserSession, isServiceKey, isThreadToken } from '../domain/access.ts';
import type { PinnedProvider } from '../domain/definition.ts';
import { secretRefusal } from '../domain/errors.ts';
import { findHeaderError } from '../domain/header-value.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import { findOutage } from '../domain/outages.ts';
import { withoutSlashes } from '../domain/remote-address.ts';
import { type Fetch, reuseConnections } from './reusing-fetch.ts';
import { readableErrors } from './vendor-errors.ts';

/** The caller on whose behalf a model is called. */
export interface ModelCaller {
  /** The caller's own access token; null when the run has none. */
  access_token: string | null;
  /** Opens a stored token for the provider that names it; throws a readable error if it may not be used. */
  openToken(name: string, provider: ModelEndpoint): Promise<string>;
}

/** The parts of a provider that lead to its endpoint. */
type ModelEndpoint = Pick<
  PinnedProvider,
  'id' | 'name' | 'provider_type' | 'api_key_token_name' | 'base_url' | 'auth_type' | 'azure_api_version' | 'azure_deployment'
>;

const TIMEOUT_MS = 120_000;
const OPENAI_URL = 'https://api.openai.com/v1';
const VENDOR_URL = 'https://api.anthropic.com';
const VENDOR_TIMEOUT_MS = 60_000;
const AZURE_API_VERSION = '2024-10-21';
/** Placeholder for the key that the SDK requires; an endpoint without a key gets no header. */
const NO_KEY = 'none';

/** The engine retries, so the SDK does not; nothing is read from the environment. */
const COMMON = { maxRetries: 0, timeout: TIMEOUT_MS, organization: null, project: null, logLevel: 'off' as const };

export const refusal = (message: string, code = 'no_provider_key') => new ModelFailure(message, { code, recoverable: false });

const clientFetch = (fetch: Fetch) => reuseConnections(readableErrors(fetch));

/** A client of the installation's own endpoint, called with the caller's access token. */
export function defaultClient(base_url: string, access_token: string, fetch: Fetch): OpenAI {
  if (isServiceKey(access_token))
    throw refusal(
      "The default runtime is called with the caller's access token, and a service key never leaves Perdura: give the agent a provider",
      'service_key_not_sent',
    );
  if (isBrowserSession(access_token))
    throw refusal(
      "The default runtime is called with the caller's access token, which a sign-in of the dashboard does not keep: give the agent a provider",
      'session_not_sent',
    );
  if (isThreadToken(access_token))
    throw refusal(
      "The default runtime is called with the caller's access token, and a thread's token never leaves Perdura: give the agent a provider",
      'thread_token_not_sent',
    );
  return new OpenAI({ ...COMMON, baseURL: base_url, apiKey: access_token, fetch: clientFetch(fetch) });
}

/** A client of a provider's endpoint, with the key opened in the caller's name. */
export async function providerClient(provider: ModelEndpoint, caller: ModelCaller, fetch: Fetch): Promise<OpenAI> {
  const options = { ...COMMON, fetch: clientFetch(fetch) };
  const { provider_type, base_url, auth_type } = provider;
  if (provider_type === 'azure_openai') return azureClient(provider, await openApiKey(provider, caller), options);
  // Only a self-hosted endpoint may have no key.
  const is_keyless = provider_type === 'openai_compatible' && !provider.api_key_token_name;
  const key = is_keyless ? null : await openApiKey(provider, caller);
  const bare = { authorization: null };
  const defaultHeaders = !key ? bare : auth_type === 'x-api-key' ? { ...bare, 'x-api-key': key } : {};
  return new OpenAI({
    ...options,
    defaultHeaders,
    apiKey: key ?? NO_KEY,
    baseURL: base_url ? addVersionPath(base_url) : OPENAI_URL,
  });
}

/** Self-hosted model servers (Ollama, llama.cpp, vLLM, LM Studio) are given as host and port; they serve under /v1. */
const addVersionPath = (url: string) => (/^http:\/\/[^/?#]+\/?$/.test(url) ? `${url.replace(/\/$/, '')}/v1` : url);

/** Creates a client of Anthropic's API. `url` overrides the vendor's address, and the provider's `base_url` overrides both. */
export async function vendorClient(
  provider: ModelEndpoint,
  caller: ModelCaller,
  { url = VENDOR_URL, fetch }: { url?: string | undefined; fetch: Fetch },
): Promise<Anthropic> {
  const options = { authToken: null, maxRetries: 0, timeout: VENDOR_TIMEOUT_MS, logLevel: 'off' as const };
  const apiKey = await openApiKey(provider, caller);
  return new Anthropic({
    ...options,
    apiKey,
    // The client sends it as a bearer token, which not every compatible endpoint reads.
    defaultHeaders: { 'x-api-key': apiKey },
    baseURL: provider.base_url ?? url,
    fetch: readableErrors(fetch),
  });
}

/** `base_url` is the address of the resource; a deployment, if named, is part of the path. */
function azureClient(provider: ModelEndpoint, apiKey: string, options: typeof COMMON & { fetch: Fetch }): OpenAI {
  const { name, base_url, azure_api_version, azure_deployment } = provider;
  if (!base_url) {
    const message = `The provider ${name} has no base_url; give the address of its Azure resource, such as https://my-resource.openai.azure.com`;
    throw refusal(message, 'no_base_url');
  }
  const address = withoutSlashes(base_url);
  // This API has neither versions nor deployments in its addresses.
  if (address.endsWith('/openai/v1'))
    return new OpenAI({ ...options, apiKey, baseURL: address, defaultHeaders: { authorization: null, 'api-key': apiKey } });
  return new AzureOpenAI({
    ...options,
    apiKey,
    apiVersion: azure_api_version ?? AZURE_API_VERSION,
    baseURL: address.endsWith('/openai') ? address : `${address}/openai`,
    ...(azure_deployment ? { deployment: azure_deployment } : {}),
  });
}

async function openApiKey(provider: ModelEndpoint, caller: ModelCaller): Promise<string> {
  const { name, api_key_token_name: token } = provider;
  if (!token) throw refusal(`The provider ${name} has no key; store one and name it in api_key_token_name`);
  const key = await caller.openToken(token, provider).catch((error: Error) => {
    if (findOutage(error)) throw error;
    const code = secretRefusal(error);
    if (code) throw refusal(error.message, code);
    throw refusal(`The provider ${name} has no usable key: ${error.message}`);
  });
  const fault = findHeaderError(key, `the stored token ${token}`);
  if (fault) throw refusal(`The provider ${name} has no usable key: ${fault}`);
  return key;
}
