import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createPersonalFetch } from '../../src/tools/mcp/bearer.ts';
import type { McpTarget } from '../../src/tools/mcp/config.ts';

const url = 'https://mcp.example.org/mcp';
const target: McpTarget = { id: 'm', name: 'notes', network: false, paths: [], endpoint: { kind: 'http', url, headers: {} } };
const AUTHORITY = 'https://auth.example.org';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sends a request with a sign-in whose token expires in this many seconds; returns the tokens sent, or the refusal. */
async function sentWith(expires_in_s: number | null, refresh_token?: string) {
  const tokens = { access_token: 'first', token_type: 'bearer', ...(refresh_token ? { refresh_token } : {}) };
  const secrets = { url, tokens, client: { client_id: 'c' }, discovery: { authorizationServerUrl: AUTHORITY } };
  const sent: (string | null)[] = [];
  const peer = async (input: unknown, init?: RequestInit) => {
    if (String(input).startsWith(AUTHORITY)) return Response.json({ access_token: 'second', token_type: 'bearer' });
    sent.push(new Headers(init?.headers).get('authorization'));
    return new Response();
  };
  const store = {
    find: async () => ({ ...secrets, expires_at: expires_in_s === null ? null : new Date(expires_in_s * 1_000) }),
    lease: async () => ({ secrets, renew: async () => true, end: async () => {}, release: async () => {} }),
  };
  const personal = createPersonalFetch(peer as typeof fetch, store as never)({ target, principal: 'ann' });
  return personal.fetch(url).then(
    () => sent,
    ({ code, type }) => code ?? type,
  );
}

it.each([
  ['that never expires', null, ['Bearer first'], ['Bearer first']],
  ['that expires in 31 s', 31, ['Bearer first'], ['Bearer first']],
  ['that expires in 30 s', 30, ['Bearer first'], ['Bearer second']],
  ['that expires in 1 s', 1, ['Bearer first'], ['Bearer second']],
  ['that has expired', 0, 'mcp_sign_in_needed', ['Bearer second']],
])('a token %s is sent as long as it is valid, and renewed early if it can be', async (_, seconds, alone, renewable) => {
  expect([await sentWith(seconds), await sentWith(seconds, 'r')]).toEqual([alone, renewable]);
});
