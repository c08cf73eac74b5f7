import { BYTE_LIMITS, limitFetchBytes } from '../../egress/counted-fetch.ts';
import type { McpTarget } from './config.ts';

type Fetch = typeof globalThis.fetch;

/** The limits of OAuth replies: metadata and tokens are small, and are parsed in this process. */
const OAUTH_LIMITS = { ...BYTE_LIMITS, message: 256 * 1_024 };
const OAUTH_MS = 15_000;

/** Creates a fetch for the OAuth protocol, within limits. */
export const createOAuthFetch = (fetch: Fetch): Fetch => {
  const limitedFetch = limitFetchBytes(fetch, OAUTH_LIMITS);
  return (input, init) => limitedFetch(input, { ...init, signal: init?.signal ?? AbortSignal.timeout(OAUTH_MS) });
};

/**
 * Returns the server's address if people sign in to it; null if it is not remote, or if a header of its configuration already
 * signs in.
 */
export function findSignInUrl({ endpoint }: McpTarget): string | null {
  if (endpoint.kind === 'stdio') return null;
  return Object.keys(endpoint.headers).some((name) => name.toLowerCase() === 'authorization') ? null : endpoint.url;
}
