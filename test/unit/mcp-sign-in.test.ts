import { describe, expect, it } from 'vitest';
import { toSignIn } from '../../src/api/routes/mcps.ts';
import type { McpTarget } from '../../src/tools/mcp/config.ts';
import { beginSignIn } from '../../src/tools/mcp/sign-in.ts';

const url = 'https://mcp.test/mcp';
const AUTHORITY = 'https://auth.test';
const METADATA = {
  issuer: AUTHORITY,
  authorization_endpoint: `${AUTHORITY}/consent`,
  token_endpoint: 'https://tokens.test/token',
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
};

interface Peers {
  challenge?: string;
  metadata?: object | null;
  oauth?: { client_id: string; scope?: string };
}

/** Begins a sign-in at a server with this challenge and this metadata. */
function begin({ challenge = 'Bearer', metadata = METADATA, oauth = { client_id: 'known' } }: Peers) {
  const fetch = (async (input: unknown, init?: RequestInit) => {
    const address = String(input);
    if (init?.method === 'POST') return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
    if (address.startsWith(`${AUTHORITY}/.well-known/oauth-authorization-server`) && metadata) return Response.json(metadata);
    if (address === 'https://mcp.test/documents') return Response.json({ resource: url, authorization_servers: [AUTHORITY] });
    return new Response(null, { status: 404 });
  }) as typeof globalThis.fetch;
  const target: McpTarget = {
    ...{ id: 'm', name: 'notes', network: false, paths: [] },
    endpoint: { kind: 'http', url, headers: {}, oauth },
  };
  return beginSignIn(target, { state: 's', redirect_url: 'https://perdura.test/back', fetch });
}

const NAMED = 'Bearer resource_metadata="https://mcp.test/documents"';

describe('a sign-in at an MCP server', () => {
  it('begins at the authorization server that the server names, and lists each origin that takes part', async () => {
    const { authorization_url, origins } = await begin({ challenge: NAMED });
    expect(authorization_url).toMatch(/^https:\/\/auth\.test\/consent\?/);
    expect(origins).toEqual({ server: 'https://mcp.test', authorization: AUTHORITY, token: 'https://tokens.test' });
  });

  it('begins at the server itself if nothing names another one', async () => {
    const { authorization_url, origins } = await begin({ metadata: null });
    expect(authorization_url).toMatch(/^https:\/\/mcp\.test\/authorize\?/);
    expect(origins).toEqual({ server: 'https://mcp.test', authorization: 'https://mcp.test', token: 'https://mcp.test' });
  });

  it.each([
    ['the configuration', { challenge: NAMED, oauth: { client_id: 'known', scope: 'of-owner' } }, 'of-owner'],
    ['the challenge', { challenge: `${NAMED}, scope="of-server"` }, 'of-server'],
    ['nothing', { challenge: NAMED }, null],
  ])('asks for the scope of %s', async (_what, peers, scope) => {
    const { authorization_url } = await begin(peers);
    expect(new URL(authorization_url).searchParams.get('scope')).toBe(scope);
  });

  it('does not lead a browser to what is not a page', async () => {
    const metadata = { ...METADATA, authorization_endpoint: 'ftp://auth.test/consent' };
    await expect(begin({ challenge: NAMED, metadata })).rejects.toMatchObject({
      code: 'mcp_sign_in_failed',
      message: expect.stringContaining('its authorization server has no usable address'),
    });
  });
});

it('a sign-in at an MCP server says until when it lasts, if that is known', () => {
  const signed_in_at = new Date('2031-05-01T07:11:13.000Z');
  const facts = { signed_in_at: '2031-05-01T07:11:13.000Z', renews: false };
  expect(toSignIn({ signed_in_at, expires_at: null, renews: false })).toEqual({ ...facts, expires_at: null });
  const expires_at = new Date('2031-05-01T08:17:19.000Z');
  expect(toSignIn({ signed_in_at, expires_at, renews: false })).toEqual({ ...facts, expires_at: '2031-05-01T08:17:19.000Z' });
});
