import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { AppError } from '../../domain/errors.ts';
import { truncate } from '../../domain/outside.ts';
import { getReason } from '../../domain/reason.ts';
import type { McpAttemptSecrets, McpSignInSecrets } from '../../store/secrets/mcp-sign-ins.ts';
import type { McpTarget } from './config.ts';
import { createOAuthFetch, findSignInUrl } from './oauth.ts';

type Fetch = typeof globalThis.fetch;

/** The origins that take part in a sign-in. */
interface SignInOrigins {
  server: string;
  /** The address at which the person consents. */
  authorization: string;
  /** The address at which the code is exchanged for tokens. */
  token: string;
}

interface SignInStart {
  authorization_url: string;
  origins: SignInOrigins;
  secrets: McpAttemptSecrets;
}

interface BeginOptions {
  state: string;
  redirect_url: string;
  fetch: Fetch;
}

/** Finds the server's authorization server and creates the URL for the person's browser. Throws a sentence if there is none. */
export async function beginSignIn(target: McpTarget, { state, redirect_url, fetch }: BeginOptions): Promise<SignInStart> {
  const url = findSignInUrl(target);
  if (!url || target.endpoint.kind === 'stdio') {
    const message = `Nobody signs in to the MCP server ${target.name}: it is a command, or has an Authorization header`;
    const errors = [{ path: 'connection_config', message }];
    throw new AppError('unprocessable', message, { code: 'mcp_sign_in_not_offered', errors });
  }
  const secrets: Partial<McpAttemptSecrets> & { authorization_url?: URL } = {};
  const { oauth = {} } = target.endpoint;
  const provider: OAuthClientProvider = {
    ...toClientMetadata(oauth, redirect_url),
    state: () => state,
    clientInformation: () => secrets.client,
    tokens: () => undefined,
    saveTokens: () => {},
    saveCodeVerifier: (verifier) => {
      secrets.verifier = verifier;
    },
    codeVerifier: () => secrets.verifier!,
    saveDiscoveryState: (discovery) => {
      requireOwnMetadata(discovery);
      secrets.discovery = discovery;
    },
    redirectToAuthorization: (address) => {
      secrets.authorization_url = address;
    },
  };
  if (oauth.client_id) secrets.client = toClientInformation(oauth);
  else
    provider.saveClientInformation = (client) => {
      secrets.client = client;
    };
  const watched_fetch = watchFailures(createOAuthFetch(fetch));
  try {
    await auth(provider, {
      serverUrl: url,
      fetchFn: watched_fetch.fetch,
      ...(await fetchChallenge(url, target.endpoint.headers, watched_fetch.fetch)),
    });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('upstream', describeFailedStart(target, watched_fetch.failure() ?? error), { code: 'mcp_sign_in_failed' });
  }
  const { authorization_url, client, verifier, discovery } = secrets;
  if (!authorization_url || !client || !verifier || !discovery || !/^https?:$/.test(authorization_url.protocol))
    throw new AppError('upstream', describeFailedStart(target, new Error('its authorization server has no usable address')), {
      code: 'mcp_sign_in_failed',
    });
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = discovery;
  const origins = {
    server: new URL(url).origin,
    authorization: authorization_url.origin,
    token: new URL(metadata?.token_endpoint ?? authorizationServerUrl).origin,
  };
  return { authorization_url: authorization_url.href, origins, secrets: { url, client, verifier, discovery } };
}

/**
 * Throws unless metadata describes the address that it was fetched from (RFC 8414, 3.3). Otherwise a server could name an
 * honest issuer and its own token endpoint, and would get the honest issuer's codes together with their verifiers.
 */
function requireOwnMetadata({ authorizationServerUrl, authorizationServerMetadata: metadata }: OAuthDiscoveryState): void {
  if (!metadata || normalizeIssuer(metadata.issuer) === normalizeIssuer(authorizationServerUrl)) return;
  throw new AppError(
    'upstream',
    `The metadata of the authorization server ${authorizationServerUrl} names another issuer, ${truncate(metadata.issuer)}; ` +
      'nobody can sign in until its operator corrects it',
    { code: 'mcp_sign_in_metadata' },
  );
}

/**
 * Normalizes an issuer: addresses with and without a trailing slash are the same issuer, because metadata fetched for an origin
 * has no path to compare.
 */
const normalizeIssuer = (address: string) => (URL.canParse(address) ? new URL(address).href : address).replace(/\/$/, '');

const describeFailedStart = ({ name }: McpTarget, error: unknown) =>
  `The sign-in at the MCP server ${name} cannot begin: ${truncate(getReason(error))}`;

const toClientMetadata = ({ client_secret, scope }: { client_secret?: string; scope?: string }, redirect_url: string) => ({
  redirectUrl: redirect_url,
  clientMetadata: {
    client_name: 'Perdura',
    redirect_uris: [redirect_url],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: client_secret ? 'client_secret_post' : 'none',
    ...(scope ? { scope } : {}),
  },
});

const toClientInformation = ({ client_id = '', client_secret }: { client_id?: string; client_secret?: string }) => ({
  client_id,
  ...(client_secret ? { client_secret } : {}),
});

/** Returns the metadata address and the scope that the server names when it refuses an anonymous request. */
async function fetchChallenge(url: string, headers: Record<string, string>, fetch: Fetch) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.body?.cancel();
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return { ...(resourceMetadataUrl ? { resourceMetadataUrl } : {}), ...(scope ? { scope } : {}) };
}

/**
 * Records failed requests: the library reports some of them as missing metadata, and the request's own failure is more precise.
 */
function watchFailures(fetch: Fetch) {
  let failure: unknown;
  const recordingFetch: Fetch = (input, init) =>
    fetch(input, init).catch((error: unknown) => {
      failure = error;
      throw error;
    });
  return { fetch: recordingFetch, failure: () => failure };
}

interface Finish {
  code: string;
  /** The issuer that the authorization server named in its answer, if it named one. */
  issuer: string | undefined;
  redirect_url: string;
  fetch: Fetch;
}

/** Exchanges the code for tokens. Throws a sentence if the authorization server refuses it. */
export async function finishSignIn(
  { verifier, ...known }: McpAttemptSecrets,
  { code, issuer, redirect_url, fetch }: Finish,
): Promise<McpSignInSecrets> {
  requireOwnMetadata(known.discovery);
  requireIssuer(known.discovery, issuer);
  let tokens: OAuthTokens | undefined;
  let { client } = known;
  const provider: OAuthClientProvider = {
    ...toClientMetadata(known.client, redirect_url),
    clientInformation: () => client,
    saveClientInformation: (bound) => {
      client = bound;
    },
    tokens: () => undefined,
    saveTokens: (received) => {
      tokens = received;
    },
    saveCodeVerifier: () => {},
    codeVerifier: () => verifier,
    discoveryState: () => known.discovery,
    redirectToAuthorization: () => {},
  };
  try {
    await auth(provider, { serverUrl: known.url, authorizationCode: code, fetchFn: createOAuthFetch(fetch) });
  } catch (error) {
    throw new AppError('upstream', `The authorization server did not accept the sign-in: ${truncate(getReason(error))}`, {
      code: 'mcp_sign_in_failed',
    });
  }
  return { ...known, client, tokens: tokens! };
}

/** Throws if the code comes from another authorization server, so that it is not sent to this one. */
function requireIssuer({ authorizationServerMetadata: metadata }: OAuthDiscoveryState, issuer: string | undefined): void {
  const promises_issuer = (metadata as { authorization_response_iss_parameter_supported?: unknown } | undefined)
    ?.authorization_response_iss_parameter_supported;
  if (issuer === undefined ? promises_issuer !== true : issuer === metadata?.issuer) return;
  throw new AppError('forbidden', 'This sign-in was answered by another authorization server than the one it began at', {
    code: 'mcp_sign_in_issuer',
  });
}
