import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { findOpenSession } from '../../src/runtimes/managed/agent.ts';
import { createManagedRuntime } from '../../src/runtimes/managed/session.ts';
import { createMcpPool } from '../../src/tools/mcp/pool.ts';
import { createS3Store } from '../../src/tools/snapshots/object-store.ts';
import { exchangeOf } from '../runtimes/support.ts';

// An endpoint's list of models is tested in runtimes/model-pages.

const signal = () => new AbortController().signal;
const json = (value: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(value), { headers: { 'content-type': 'application/json', ...headers } });

/** The message of what the work throws, and how many requests it made. */
async function readingOf(
  work: (fetch: typeof globalThis.fetch) => Promise<unknown>,
  answer: (n: number, request: Request) => unknown,
) {
  let count = 0;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const given = await answer(++count, new Request(input, init));
    return given instanceof Response ? given : json(given);
  };
  const message = await work(fetch).then(
    () => null,
    (error: Error) => error.message,
  );
  return { message, count };
}

const vendorOf = (fetch: typeof globalThis.fetch) =>
  new Anthropic({ apiKey: 'k', baseURL: 'https://vendor.test', fetch, maxRetries: 0, logLevel: 'off' });

const converse = (fetch: typeof globalThis.fetch) =>
  createManagedRuntime({ client: vendorOf(fetch), default_model: 'm', hosted: { builtins: [], mcp_servers: [] } }).exchange(
    exchangeOf({}),
    () => {},
    signal(),
  );

const LISTS = ['agents', 'sessions', 'environments', 'events'];
it.each(LISTS)('the %s of a vendor are read up to a limit', async (endless) => {
  const { message, count } = await readingOf(converse, (n, { url, method }) => {
    const path = new URL(url).pathname;
    if (path.endsWith('/stream')) return new Response('', { headers: { 'content-type': 'text/event-stream' } });
    if (method === 'POST') return { id: 'x' };
    return path.endsWith(`/${endless}`) ? { data: [], next_page: `page-${n}` } : { data: [] };
  });
  expect(message).toBe(
    `The provider's list of ${endless} has more than 1000 pages; remove old ones at the provider, or use another provider`,
  );
  expect(count).toBeLessThan(1_010);
});

it('a session left at a vendor is looked for up to a limit', async () => {
  const looking = (fetch: typeof globalThis.fetch) =>
    findOpenSession({ client: vendorOf(fetch), signal: signal() }, { task_id: 't', since: new Date() });
  const { message } = await readingOf(looking, (n) => ({ data: [{ id: 's', metadata: {} }], next_page: `page-${n}` }));
  expect(message).toMatch(/^The provider's list of sessions has more than 1000 pages/);
});

const settings = {
  endpoint: 'https://s3.test',
  bucket: 'b',
  region: 'r',
  access_key_id: 'a',
  secret_access_key: 's',
  prefix: '',
};
const pageOf = (token: string) =>
  new Response(
    `<ListBucketResult><Contents><Key>runs/a/1</Key></Contents><CommonPrefixes><Prefix>runs/a/</Prefix></CommonPrefixes><NextContinuationToken>${token}</NextContinuationToken></ListBucketResult>`,
  );

it.each([
  ['another page', (n: number) => pageOf(`t${n}`), 10_001],
  ['the same page', () => pageOf('t'), 3],
])('a bucket that always names %s is read up to a limit', async (_, answer, most) => {
  const { message, count } = await readingOf((fetch) => createS3Store(settings, fetch).folders('runs/'), answer);
  expect(message).toMatch(/^The object store https:\/\/s3.test\/b does not end its list of objects; .*S3_ENDPOINT/);
  expect(count).toBeLessThan(most);
});

it('a bucket that removes nothing is not asked forever', async () => {
  const { message, count } = await readingOf(
    (fetch) => createS3Store(settings, fetch).remove('runs/'),
    () => pageOf('t'),
  );
  expect(message).toBe(
    'The object store https://s3.test/b still lists runs/a/1 after it was removed; S3_ACCESS_KEY_ID must be allowed to delete objects',
  );
  expect(count).toBeLessThan(5);
});

const INITIALIZED = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };

it('an MCP server that always names another page is read up to a limit, and the listing reports it', async () => {
  const server = { id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001', name: 'odd', network: false, paths: [] };
  const endpoint = { kind: 'http' as const, url: 'https://mcp.test/mcp', headers: {} };
  const problems: string[] = [];
  const list = async (fetch: typeof globalThis.fetch) => {
    const pool = createMcpPool({ fetch, startConfined: null, schemaFaults: async (all) => all.map(() => null), version: '1' });
    const listing = pool.use(
      { target: { ...server, endpoint }, principal: 'me' },
      ({ list: listed }) => listed(signal()),
      signal(),
    );
    problems.push(...(await listing.finally(() => pool.close())).problems);
  };
  const { count } = await readingOf(list, async (n, request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const { id, method } = (await request.json()) as { id?: number; method: string };
    if (id === undefined) return new Response(null, { status: 202 });
    return { jsonrpc: '2.0', id, result: method === 'initialize' ? INITIALIZED : { tools: [], nextCursor: `c${n}` } };
  });
  expect(problems).toEqual(['Its list of tools does not end; 50 pages with 0 tools were read']);
  expect(count).toBeLessThan(60);
});

it('a service that names the same page again is not asked forever', async () => {
  const reading = async (fetch: typeof globalThis.fetch) => {
    const client = createClient({ url: 'https://perdura.test', token: 't', fetch });
    for await (const _ of client.items('GET /api/workflows'));
  };
  const { message, count } = await readingOf(reading, () => json([], { link: '</api/workflows?cursor=c>; rel="next"' }));
  expect(message).toBe(
    'https://perdura.test names the same page of GET /api/workflows again; use the address of Perdura itself: a proxy may have answered instead',
  );
  expect(count).toBe(2);
});
