import Anthropic from '@anthropic-ai/sdk';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import type { PinnedMcpServer } from '../../src/domain/definition.ts';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import { readably } from '../../src/domain/reason.ts';
import { oidcIdentity } from '../../src/identity/oidc.ts';
import { oidcLogin } from '../../src/identity/oidc-login.ts';
import { codeHostIdentity } from '../../src/identity/providers.ts';
import { parseRunBundle } from '../../src/main/commands/replay.ts';
import { createManagedRuntime } from '../../src/runtimes/managed/session.ts';
import { discover } from '../../src/tools/mcp/discover.ts';
import { createMcpPool } from '../../src/tools/mcp/pool.ts';
import { probeMcp } from '../../src/tools/mcp/probe.ts';
import { beginSignIn, finishSignIn } from '../../src/tools/mcp/sign-in.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { createS3Store } from '../../src/tools/snapshots/object-store.ts';
import type { ToolCall } from '../../src/tools/source.ts';
import { exchangeOf } from '../runtimes/support.ts';
import { changedAt, codeIn, ODD_VALUES, placesIn } from '../support/contract/odd-values.ts';

// Model answers, lists of models, vectors, search results and points of a vector database are tested elsewhere (odd-*, remote-hits).

type Fetch = typeof globalThis.fetch;
type Json = Record<string, any>;
type Sentences = (string | null | undefined)[];

/** Something of Perdura that reads what others wrote. */
interface Parser {
  reader: string;
  /** As documented. */
  sample: object;
  /** What is said of the sample. */
  documented: Sentences;
  /** What people, or the model, read about it. May throw: then they read the error's message. */
  said(sample: Json): Promise<Sentences>;
}

const signal = () => new AbortController().signal;

/** Answers by path. An answer that is a text is not JSON. */
const serves =
  (answers: Record<string, unknown>): Fetch =>
  async (input, init) => {
    const { url, method } = new Request(input, init);
    const answer = answers[`${method} ${new URL(url).pathname}`];
    if (answer === undefined) return new Response(null, { status: 404 });
    return answer instanceof Response
      ? answer.clone()
      : new Response(typeof answer === 'string' ? answer : JSON.stringify(answer), {
          headers: { 'content-type': 'application/json' },
        });
  };

const server: PinnedMcpServer = {
  ...{ id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001', name: 'odd', transport_type: 'http' },
  ...{ connection_config: { url: 'https://mcp.test/mcp' }, allowed_tools: [], network: false, paths: [], required: true },
};

/** An MCP server that gives these results. A text is sent as it is. */
const mcp = (results: Json): Fetch => {
  return async (input, init) => {
    const request = new Request(input, init);
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const { id, method } = (await request.json()) as Json;
    if (id === undefined) return new Response(null, { status: 202 });
    const result = results[method];
    const body = typeof result === 'string' && !ODD_TEXTS.has(result) ? result : JSON.stringify({ jsonrpc: '2.0', id, result });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  };
};
const ODD_TEXTS = new Set(ODD_VALUES.map(([, value]) => value));

const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 's', version: '1' },
};
const ADD = {
  name: 'add',
  description: 'Adds',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  annotations: { readOnlyHint: true },
};
const MCP_PORTS = {
  startConfined: null,
  schemaFaults: async (all: readonly unknown[]) => all.map(() => null),
  version: '1',
  connect_ms: 2_000,
};
const opens = async () => 'value';

const listed = async (results: Json): Promise<Sentences> => {
  const { error } = await probeMcp(server, { ...MCP_PORTS, fetch: mcp(results), openToken: opens });
  const pool = createMcpPool({ ...MCP_PORTS, fetch: mcp(results) });
  const ports = { pool, openConfig: async () => server, openToken: opens, principal: 'local:me' };
  const { notes, missing, lost } = await discover([server], ports, signal()).finally(() => pool.close());
  return [
    error,
    ...notes.filter(({ event }) => event === 'mcp_error').map(({ detail }) => detail),
    ...missing.map(({ message }) => message),
    ...lost.map(({ reason }) => reason),
  ];
};

const called = async (results: Json): Promise<Sentences> => {
  const pool = createMcpPool({ ...MCP_PORTS, fetch: mcp({ initialize: INITIALIZED, ...results }) });
  const spec = { name: 'add', description: '', parameters: {}, effect: 'write' as const };
  const tools = createMcpTools({ pool, openConfig: async () => server, openToken: opens }, server, [
    { server_id: server.id, tool: 'add', spec },
  ] as never);
  const call = {
    call_id: '1-1',
    call_key: 'k',
    name: 'add',
    arguments: {},
    run: { owner: 'local:me', task_id: 't' },
  } as unknown as ToolCall;
  const { content, failed } = await tools.call(call, signal()).finally(() => pool.close());
  return [content, failed ? 'failed' : 'done'];
};

const ISSUER = 'https://issuer.test';
const { privateKey, publicKey } = await generateKeyPair('RS256');
const JWK = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
const METADATA = {
  ...{
    issuer: ISSUER,
    jwks_uri: `${ISSUER}/jwks`,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint: `${ISSUER}/token`,
  },
  ...{ userinfo_endpoint: `${ISSUER}/userinfo`, token_endpoint_auth_methods_supported: ['client_secret_basic'] },
  ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
};
const now = Math.floor(Date.now() / 1_000);
const CLAIMS = {
  iss: ISSUER,
  aud: 'perdura',
  sub: 'me',
  exp: now + 600,
  iat: now,
  preferred_username: 'me',
  roles: ['viewer'],
  nonce: 'n',
};
const signed = (claims: Json) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(privateKey);

const identified = async ({ metadata = METADATA, keys = { keys: [JWK] }, claims = CLAIMS }: Json): Promise<Sentences> => {
  const fetch = serves({ 'GET /.well-known/openid-configuration': metadata, 'GET /jwks': keys });
  const identity = await oidcIdentity({ issuer: ISSUER, audiences: ['perdura'], role_claim: 'roles', fetch })(
    await signed(claims),
  );
  return [identity?.login];
};

const signedIn = async ({
  metadata = METADATA,
  keys = { keys: [JWK] },
  claims = CLAIMS,
  tokens,
  userinfo = { sub: 'me' },
}: Json): Promise<Sentences> => {
  const id_token = await signed(claims);
  const answers = {
    'GET /.well-known/openid-configuration': metadata,
    'GET /jwks': keys,
    'POST /token': tokens ?? { access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token },
    'GET /userinfo': userinfo,
  };
  const login = oidcLogin({
    issuer: ISSUER,
    client_id: 'perdura',
    client_secret: 's',
    scopes: 'openid',
    role_claim: 'roles',
    fetch: serves(answers),
  });
  await login.begin('https://perdura.test/back');
  const url = new URL('https://perdura.test/back?code=c&state=s');
  const { login: name } = await login.finish(url, { state: 's', nonce: 'n', code_verifier: 'v'.repeat(43) });
  return [name];
};

const AUTHORIZATION = {
  ...{
    issuer: 'https://mcp.test',
    authorization_endpoint: 'https://mcp.test/authorize',
    token_endpoint: 'https://mcp.test/token',
  },
  ...{
    registration_endpoint: 'https://mcp.test/register',
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  },
};
const PROTECTED = { resource: 'https://mcp.test/mcp', authorization_servers: ['https://mcp.test'], scopes_supported: ['all'] };
const TOKENS = { access_token: 'a', token_type: 'bearer', expires_in: 60, refresh_token: 'r', scope: 'all' };
const CLIENT = { client_id: 'c', client_secret: 's', redirect_uris: ['https://perdura.test/back'] };

const signedInAtMcp = async ({
  metadata = AUTHORIZATION,
  resource = PROTECTED,
  client = CLIENT,
  tokens = TOKENS,
}: Json): Promise<Sentences> => {
  const fetch = serves({
    'POST /mcp': new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
    'GET /.well-known/oauth-protected-resource/mcp': resource,
    'GET /.well-known/oauth-authorization-server': metadata,
    'POST /register': client,
    'POST /token': tokens,
  });
  const target = {
    id: server.id,
    name: 'odd',
    network: false,
    paths: [],
    endpoint: { kind: 'http' as const, url: 'https://mcp.test/mcp', headers: {} },
  };
  const redirect_url = 'https://perdura.test/back';
  const { secrets } = await beginSignIn(target, { state: 's', redirect_url, fetch });
  await finishSignIn(secrets, { code: 'c', issuer: undefined, redirect_url, fetch });
  return [];
};

const usage = { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const idle = { id: 'e9', type: 'session.status_idle', stop_reason: { type: 'end_turn' }, stop_details: null };
const ANSWERED = [
  { type: 'event_start', event: { id: 'e1', type: 'agent.message' } },
  { type: 'event_delta', event_id: 'e1', delta: { type: 'content_delta', index: 0, content: { type: 'text', text: 'Hel' } } },
  { id: 'e1', type: 'agent.message', content: [{ type: 'text', text: 'Hello' }] },
  { id: 'e2', type: 'agent.mcp_tool_use', name: 'look', mcp_server_name: 'eyes', input: { at: 1 } },
  { id: 'e3', type: 'agent.mcp_tool_result', mcp_tool_use_id: 'e2', content: [{ type: 'text', text: 'Seen' }], is_error: false },
  { id: 'e4', type: 'span.model_request_end', model_usage: usage },
  idle,
];
const ASKED = [
  { id: 'e1', type: 'agent.custom_tool_use', name: 'add', input: { a: 1 } },
  { ...idle, stop_reason: { type: 'requires_action', event_ids: ['e1'] } },
];
const FAILED = [
  {
    id: 'e1',
    type: 'session.error',
    error: { type: 'model_overloaded_error', message: 'Busy', retry_status: { type: 'exhausted' } },
  },
];
const REFUSED = [{ ...idle, stop_reason: { type: 'refusal' }, stop_details: { explanation: 'No.' } }];
const page = (...data: object[]) => ({ data });
const LISTS = {
  agents: page({ id: 'a', metadata: {} }),
  environments: page({ id: 'v', metadata: {} }),
  sessions: page({ id: 's', metadata: {} }),
  past: page(),
};

const held = async ({
  stream = ANSWERED,
  agents = LISTS.agents,
  environments = LISTS.environments,
  sessions = LISTS.sessions,
  past = LISTS.past,
}: Json): Promise<Sentences> => {
  const text = (Array.isArray(stream) ? stream : [stream])
    .map((event) => `event: ${event?.type ?? 'message'}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
  const fetch: Fetch = async (input, init) => {
    if (new URL(new Request(input, init).url).pathname.endsWith('/stream'))
      return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
    return serves({
      ...{
        'GET /v1/agents': agents,
        'POST /v1/agents': { id: 'a' },
        'GET /v1/environments': environments,
        'POST /v1/environments': { id: 'v' },
      },
      ...{
        'GET /v1/sessions': sessions,
        'POST /v1/sessions': { id: 's' },
        'GET /v1/sessions/s/events': past,
        'POST /v1/sessions/s/events': { data: [] },
      },
      'POST /v1/sessions/s/archive': { id: 's' },
    })(input, init);
  };
  const runtime = createManagedRuntime({
    client: new Anthropic({ apiKey: 'k', baseURL: 'https://vendor.test', fetch, maxRetries: 0 }),
    default_model: 'm',
    hosted: { builtins: [], mcp_servers: [] },
    idle_ms: 2_000,
  });
  const streamed: string[] = [];
  const add = { name: 'add', description: '', parameters: {}, effect: 'read' as const };
  try {
    const { reply } = await runtime.exchange(exchangeOf({ tools: [add] }), (delta) => streamed.push(delta), signal());
    const there = (reply.made_there ?? []).flatMap(({ name, result }) => [name, result?.content]);
    return [reply.text, ...streamed, ...reply.calls.map(({ name }) => name), ...there];
  } catch (error) {
    if (!(error instanceof ModelFailure)) return [`Error: ${error}`];
    return [error.message];
  }
};

const stored = async (xml: string, status = 200): Promise<Sentences> => {
  const settings = {
    endpoint: 'https://s3.test',
    bucket: 'b',
    region: 'r',
    access_key_id: 'a',
    secret_access_key: 's',
    prefix: '',
  };
  await createS3Store(settings, async () => new Response(xml, { status })).folders('runs/');
  return [];
};

const ANSWER = ['Hello', 'Hel', 'lo', 'eyes: look', 'Seen'];
const SESSIONS: [name: string, stream: object[], documented: Sentences][] = [
  ['an answer', ANSWERED, ANSWER],
  ['a call', ASKED, ['', 'add']],
  ['a failure', FAILED, ["The provider's session failed: Busy"]],
  ['a refusal', REFUSED, ['No.', 'No.']],
];
const user = { id: 1, login: 'me', username: 'me' };
const PARSERS: Parser[] = [
  {
    reader: 'a listing of MCP tools',
    sample: { initialize: INITIALIZED, 'tools/list': { tools: [ADD], nextCursor: '' } },
    documented: [null],
    said: listed,
  },
  {
    reader: 'a result of an MCP tool',
    sample: {
      'tools/call': {
        content: [
          { type: 'text', text: 'Two' },
          { type: 'image', data: 'AA==', mimeType: 'image/png' },
          { type: 'resource', resource: { uri: 'a:b', text: 'Text' } },
          { type: 'resource_link', uri: 'a:b', name: 'n' },
        ],
        structuredContent: { a: 1 },
        isError: false,
      },
    },
    documented: [
      'Two\n[image, image-1.bin: application/octet-stream, 1 bytes]\n[resource a:b]\nText\n[resource n: a:b]\n{"a":1}',
      'done',
    ],
    said: called,
  },
  {
    reader: 'an issuer of tokens',
    sample: { metadata: METADATA, keys: { keys: [JWK] }, claims: CLAIMS },
    documented: ['me'],
    said: identified,
  },
  {
    reader: 'a sign-in at an issuer',
    sample: {
      metadata: METADATA,
      keys: { keys: [JWK] },
      claims: CLAIMS,
      userinfo: { sub: 'me', preferred_username: 'me', roles: ['viewer'] },
    },
    documented: ['me'],
    said: signedIn,
  },
  {
    reader: 'the tokens of an issuer',
    sample: { tokens: { access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token: await signed(CLAIMS) } },
    documented: ['me'],
    said: signedIn,
  },
  ...(['github', 'gitlab', 'gitea'] as const).map((provider) => ({
    reader: `an account at ${provider}`,
    sample: { user },
    documented: ['me'],
    async said(sample: Json) {
      const identity = await codeHostIdentity({
        provider,
        api_url: 'https://host.test',
        fetch: serves({ 'GET /user': sample.user ?? null }),
      })('token');
      return [identity?.login];
    },
  })),
  {
    reader: 'a sign-in at an MCP server',
    sample: { metadata: AUTHORIZATION, resource: PROTECTED, client: CLIENT, tokens: TOKENS },
    documented: [],
    said: signedInAtMcp,
  },
  ...SESSIONS.map(([name, stream, documented]) => ({
    reader: `a session at a vendor (${name})`,
    sample: { stream },
    documented,
    said: held,
  })),
  { reader: 'the lists of a vendor', sample: LISTS, documented: ANSWER, said: held },
];

/** The sentences that speak about code. */
const ofCode = async ({ said }: Parser, sample: object): Promise<string[]> => {
  const sentences = await said(sample).catch((error: Error) => [error.message]);
  return sentences.flatMap((sentence) => (sentence && codeIn(sentence) ? [sentence] : []));
};

describe.each(PARSERS.map((parser) => [parser.reader, parser] as const))('%s', (_, parser) => {
  it('is read as documented', async () => {
    expect(await parser.said(parser.sample)).toEqual(parser.documented);
  });

  it.each(placesIn(parser.sample).map((path) => [path.join('.'), path] as const))(
    'speaks to people, whatever is at %s',
    async (_place, path) => {
      const faults: string[] = [];
      for (const [name, value] of ODD_VALUES)
        faults.push(...(await ofCode(parser, changedAt(parser.sample, path, value))).map((fault) => `${name}: ${fault}`));
      expect(faults).toEqual([]);
    },
  );

  it.each(Object.keys(parser.sample))('speaks to people if %s is a page instead of JSON', async (part) => {
    if (part === 'claims' || part === 'stream') return;
    const all = await ofCode(parser, { ...parser.sample, [part]: '<html>Sign in</html>' });
    expect(all).toEqual([]);
  });
});

/** The message of what it throws; null if it throws nothing. */
function refusalOf(read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

it.each([
  '',
  '<html>',
  '{',
  'null',
  '[]',
  '5',
  '"odd"',
  '{}',
  '{"format":"perdura-run"}',
  '{"format":"perdura-run","version":null}',
  '{"format":"perdura-run","version":1}',
  '{"format":"perdura-run","version":1,"task":[]}',
])('a file %s instead of a bundle is refused in words', (text) => {
  expect(codeIn(refusalOf(() => parseRunBundle(text)) ?? 'undefined')).toBeNull();
});

it.each(['', '<html>', 'null', '<Error>', '<ListBucketResult', '<?xml version="1.0"?><Odd/>'])(
  'a bucket that answers %s is not taken for empty',
  async (xml) => {
    const error = await stored(xml).then(
      () => null,
      (failure: Error) => failure,
    );
    expect(error?.message).toMatch(/^The object store https:\/\/s3.test\/b .*S3_ENDPOINT/);
    expect(codeIn(error?.message ?? '')).toBeNull();
  },
);

it('a connection that breaks is not taken for an odd answer', () => {
  const broken = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:1') });
  expect(readably(broken, 'The list')).toBe(broken);
  const odd = readably(new TypeError("Cannot read properties of null (reading 'id')"), 'The list');
  expect(odd.message).toBe('The list cannot be read: it does not have the documented form');
});
