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

interface Scene {
  /** The access tokens of the sign-in, each time that it is looked up; the last is repeated. Null: there is none. */
  found: (string | null)[];
  /** The outcome of each lease: the access token in it, and if the renewed ones are kept. Null: another process has it. */
  leases?: ({ token: string; is_kept: boolean } | null)[];
  answer?: (token: string | null) => Response;
  onLease?: () => void;
}

/** Sends a request with sign-ins whose tokens have expired; returns the tokens sent, or the refusal. */
async function sentIn({ found, leases = [], answer = () => new Response(), onLease }: Scene) {
  const next = <T>(values: T[]) => (values.length > 1 ? values.shift()! : values[0]!);
  const secretsOf = (access_token: string) => {
    const tokens = { access_token, token_type: 'bearer', refresh_token: 'r' };
    return { url, tokens, client: { client_id: 'c' }, discovery: { authorizationServerUrl: AUTHORITY } };
  };
  const sent: (string | null)[] = [];
  const released: string[] = [];
  const peer = async (input: unknown, init?: RequestInit) => {
    if (String(input).startsWith(AUTHORITY)) return Response.json({ access_token: 'renewed', token_type: 'bearer' });
    sent.push(new Headers(init?.headers).get('authorization'));
    return answer(sent.at(-1)!);
  };
  const store = {
    async find() {
      const token = next(found);
      return token && { ...secretsOf(token), expires_at: new Date(token === 'old' ? 0 : 60_000) };
    },
    async lease() {
      onLease?.();
      const lease = next(leases);
      const release = async () => void released.push(lease!.token);
      return lease && { secrets: secretsOf(lease.token), renew: async () => lease.is_kept, end: async () => {}, release };
    },
  };
  const personal = createPersonalFetch(peer as typeof fetch, store as never)({ target, principal: 'ann' });
  const end = await personal.fetch(url).then(
    ({ status }) => status,
    ({ code, message }) => code ?? message,
  );
  return { sent, released, end };
}

const refuses = (headers: Record<string, string>) => () => new Response(null, { status: 401, headers });

it.each<[string, Scene, { sent?: (string | null)[]; released?: string[]; end: number | string }]>([
  ['was removed while it was renewed', { found: ['old', null] }, { sent: [], end: 'mcp_sign_in_needed' }],
  [
    'another process has renewed before the lease',
    { found: ['old', 'old', 'new'], leases: [{ token: 'new', is_kept: true }] },
    { sent: ['Bearer new'], released: ['new'], end: 200 },
  ],
  [
    'was replaced during the renewal',
    { found: ['old', 'old', 'new'], leases: [{ token: 'old', is_kept: false }] },
    { sent: ['Bearer new'], released: [], end: 200 },
  ],
  [
    'is refused again after its renewal',
    { found: ['new'], leases: [{ token: 'new', is_kept: true }], answer: refuses({ 'www-authenticate': 'Bearer' }) },
    { sent: ['Bearer new', 'Bearer renewed'], end: 'mcp_sign_in_needed' },
  ],
  ['does not exist, nor is asked for', { found: [null], answer: refuses({}) }, { sent: [null], end: 401 }],
  [
    'does not exist, but is asked for',
    { found: [null], answer: refuses({ 'www-authenticate': 'bearer x' }) },
    { end: 'mcp_sign_in_needed' },
  ],
])('a sign-in that %s', async (_what, scene, outcome) => {
  expect(await sentIn(scene)).toMatchObject(outcome);
});

it('a sign-in that another process renews without an end is given up after more than a minute', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 0 });
  const { sent, end } = await sentIn({ found: ['old'], leases: [null], onLease: () => vi.advanceTimersByTime(71_000) });
  expect([sent, end]).toEqual([[], 'The sign-in at the MCP server notes is being renewed for too long']);
});
