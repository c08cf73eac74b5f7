import { setTimeout as wait } from 'node:timers/promises';
import { refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  OAuthError,
  ServerError,
  TemporarilyUnavailableError,
  TooManyRequestsError,
} from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { mcpSignInNeeded } from '../../domain/errors.ts';
import { getReason } from '../../domain/reason.ts';
import type { McpSignInSecrets, McpSignInStore } from '../../store/secrets/mcp-sign-ins.ts';
import { ToolUnreachable } from '../source.ts';
import type { McpTarget } from './config.ts';
import { createOAuthFetch, findSignInUrl } from './oauth.ts';

type Fetch = typeof globalThis.fetch;

/** The access token of one person for one server. */
interface McpBearer {
  /** Returns the token, renewed if it is about to expire. Null: the person has not signed in. */
  token(): Promise<string | null>;
  /** Returns a token that replaces one that the server refused. Throws `mcp_sign_in_needed` if there is none. */
  renew(old_token: string): Promise<string>;
  /** Creates an error that names the person who has to sign in. */
  createSignInError(): Error;
}

interface BearerOptions {
  principal: string;
  store: Pick<McpSignInStore, 'find' | 'lease'>;
  fetch: Fetch;
}

/** How long before its expiry a token is renewed. */
const EARLY_MS = 30_000;
const LOOK_MS = 100;
/** How long to wait for another process's renewal: longer than the lease of a process that was lost. */
const PATIENCE_MS = 70_000;

function createMcpBearer({ id: server_id, name }: McpTarget, url: string, { principal, store, fetch }: BearerOptions): McpBearer {
  const place = { server_id, principal };
  const createSignInNeeded = () =>
    mcpSignInNeeded(
      `The MCP server ${name} needs a sign-in of ${principal}: open the server in the dashboard and choose Sign in, or use POST /api/mcps/${server_id}/sign-in`,
    );
  const current = async () => {
    const sign_in = await store.find(place);
    return sign_in && sign_in.url === url ? sign_in : null;
  };
  const isSpent = ({ expires_at }: { expires_at: Date | null }, early_ms: number) =>
    expires_at !== null && expires_at.getTime() - early_ms <= Date.now();

  /** Renews the token in one process; the others wait for its result. */
  async function renewToken(old_token: string): Promise<string> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const sign_in = await current();
      if (!sign_in) throw createSignInNeeded();
      if (sign_in.tokens.access_token !== old_token) return sign_in.tokens.access_token;
      const lease = await store.lease(place);
      if (lease) return await renewWithLease(lease, old_token);
      if (performance.now() > until)
        throw new ToolUnreachable(`The sign-in at the MCP server ${name} is being renewed for too long`);
      await wait(LOOK_MS);
    }
  }

  type Lease = NonNullable<Awaited<ReturnType<McpSignInStore['lease']>>>;

  async function renewWithLease({ secrets, renew, end, release }: Lease, old_token: string): Promise<string> {
    if (secrets.url !== url || secrets.tokens.access_token !== old_token) {
      await release();
      return renewToken(old_token);
    }
    if (!secrets.tokens.refresh_token) {
      await end();
      throw createSignInNeeded();
    }
    try {
      const tokens = await refresh(secrets, fetch);
      if (await renew({ ...secrets, tokens })) return tokens.access_token;
    } catch (error) {
      if (isRefusal(error)) {
        await end();
        throw createSignInNeeded();
      }
      await release();
      throw new ToolUnreachable(`The sign-in at the MCP server ${name} cannot be renewed: ${getReason(error)}`);
    }
    // The person signed in again or disconnected in the meantime.
    return renewToken(old_token);
  }

  return {
    createSignInError: createSignInNeeded,
    renew: renewToken,
    async token() {
      const sign_in = await current();
      if (!sign_in) return null;
      const { access_token, refresh_token } = sign_in.tokens;
      return isSpent(sign_in, refresh_token ? EARLY_MS : 0) ? renewToken(access_token) : access_token;
    },
  };
}

function refresh({ client, discovery, tokens }: McpSignInSecrets, fetch: Fetch): Promise<OAuthTokens> {
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = discovery;
  return refreshAuthorization(authorizationServerUrl, {
    ...(metadata ? { metadata } : {}),
    clientInformation: client,
    refreshToken: tokens.refresh_token!,
    ...(resourceMetadata ? { resource: resourceMetadata.resource } : {}),
    fetchFn: createOAuthFetch(fetch),
  });
}

const PASSING = [ServerError, TemporarilyUnavailableError, TooManyRequestsError];

/** True if the authorization server will refuse another attempt, too. */
const isRefusal = (error: unknown): boolean => error instanceof OAuthError && !PASSING.some((kind) => error instanceof kind);

/**
 * Wraps a fetch so that it sends the person's access token. If the server refuses a token, it is renewed once. `onSent` is
 * called with each use.
 */
function withSignIn(fetch: Fetch, bearer: McpBearer, onSent: () => void): Fetch {
  const send = (input: Parameters<Fetch>[0], init: RequestInit | undefined, token: string) => {
    onSent();
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  return async (input, init) => {
    const token = await bearer.token();
    const response = await (token ? send(input, init, token) : fetch(input, init));
    if (response.status !== 401 || !(token || asksForBearer(response))) return response;
    await response.body?.cancel();
    if (!token) throw bearer.createSignInError();
    const again = await send(input, init, await bearer.renew(token));
    if (again.status !== 401) return again;
    await again.body?.cancel();
    throw bearer.createSignInError();
  };
}

export interface PersonalFetch {
  fetch: Fetch;
  /** True if the person's sign-in has been sent to the server. */
  isSignedIn(): boolean;
}

/** Creates a principal's fetch for a server: with their own sign-in, if the server uses sign-ins. */
export const createPersonalFetch =
  (fetch: Fetch, store: BearerOptions['store']) =>
  ({ target, principal }: { target: McpTarget; principal: string }): PersonalFetch => {
    const url = findSignInUrl(target);
    if (!url) return { fetch, isSignedIn: () => false };
    let is_used = false;
    const markUsed = () => {
      is_used = true;
    };
    return {
      fetch: withSignIn(fetch, createMcpBearer(target, url, { principal, store, fetch }), markUsed),
      isSignedIn: () => is_used,
    };
  };

const asksForBearer = ({ headers }: Response) => /^\s*bearer\b/i.test(headers.get('www-authenticate') ?? '');
