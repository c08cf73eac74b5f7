import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Endpoint } from '../../src/contracts/endpoint.ts';
import type { Reply } from '../support/client.ts';
import { describedBodies } from '../support/contract/described-bodies.ts';
import { declaredEndpoints } from '../support/contract/endpoints.ts';
import { schemaReference } from '../support/database/schema-places.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { UNKNOWN, type World, worldOf } from './contract-world.ts';

interface Operation {
  parameters?: { name: string; in: string; schema: { type?: string } }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, object> }>;
  security?: [];
}

const endpoints = await declaredEndpoints();
const ajv = new Ajv2020({ strict: false, validateFormats: false });
let here: TestInstallation;
let world: World;
let api: { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, object> } };
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice' } });
  world = await worldOf(here);
  api = (await here.anonymous.get('/openapi.json')).body as typeof api;
  ajv.addSchema(api, 'api');
});
afterAll(() => here.stop());

const titled = (of: Endpoint[]) => of.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);
const somewhere = (path: string) => path.replaceAll(/\{\w+\}/g, UNKNOWN);
const operationOf = ({ method, path }: Endpoint) => api.paths[path]?.[method.toLowerCase()] as Operation;

/** How a reply differs from what the description says for its status. */
function differences({ method, path }: Endpoint, { status, headers, body }: Reply): unknown {
  const { content } = operationOf({ method, path } as Endpoint).responses[String(status)] ?? {};
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  if (!content?.[type]) return `${status} ${type} is not described`;
  const place = ['paths', path, method.toLowerCase(), 'responses', String(status), 'content', type, 'schema'];
  const fits = ajv.compile({ $ref: schemaReference('api', place) });
  fits(body);
  return fits.errors;
}

/** A body that fits its description; undefined: the operation takes none. */
function described(endpoint: Endpoint): object | undefined {
  const schema = operationOf(endpoint).requestBody?.content['application/json']?.schema as never;
  return schema && describedBodies(api.components.schemas as never).sampleOf(schema);
}

const GUARDED = endpoints.filter(({ access, path }) => access !== null && !path.startsWith('/health'));

it.each(titled(GUARDED))('%s asks callers without a token for one, as described', async (_, endpoint) => {
  const body = endpoint.body && endpoint.method !== 'GET' ? {} : undefined;
  const answer = await here.anonymous.send(endpoint.method, somewhere(endpoint.path), { body });
  expect(answer.status).toBe(401);
  expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer\b/);
  expect(differences(endpoint, answer)).toBe(null);
});

const BODIED = endpoints.filter(({ body, path }) => body && path.startsWith('/v1/'));

it.each(titled(BODIED))('%s answers as described to a field that it does not know', async (_, endpoint) => {
  const body = { ...described(endpoint), zzq_unheard_of: 1 };
  const answer = await here.alice.send(endpoint.method, somewhere(endpoint.path), { body });
  expect(differences(endpoint, answer)).toBe(null);
});

describe.each([
  ['/v1/no-such-thing', 404],
  ['/v1/conversations', 405],
])('GET %s', (path, status) => {
  it('is refused in the words of OpenAI', async () => {
    const answer = await here.alice.get(path);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', code: expect.any(String), param: null },
    });
    expect(await here.anonymous.get(path)).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
  });
});

it('/mcp refuses a client that accepts neither of its types as described', async () => {
  const endpoint = endpoints.find(({ path }) => path === '/mcp') as Endpoint;
  for (const accept of ['application/json', 'text/html', '*/*']) {
    const answer = await here.alice.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { accept });
    expect([answer.status, differences(endpoint, answer)]).toEqual([406, null]);
    expect(answer.body.detail).toContain('application/json, text/event-stream');
  }
});

const queriesOf = ({ query }: Endpoint) =>
  Object.entries(query instanceof z.ZodObject ? (query.shape as Record<string, z.ZodType>) : {});

it('describes every query parameter that is true or false as a boolean', () => {
  const flags = endpoints.flatMap((endpoint) =>
    queriesOf(endpoint)
      .filter(
        ([, field]) => field.safeParse('true').success && field.safeParse('false').success && !field.safeParse('2026').success,
      )
      .map(([name]) => ({ name, endpoint })),
  );
  expect(flags.length).toBeGreaterThan(8);
  const wrong = flags.filter(({ name, endpoint }) =>
    operationOf(endpoint).parameters?.some((one) => one.in === 'query' && one.name === name && one.schema.type !== 'boolean'),
  );
  expect(wrong.map(({ name, endpoint }) => `${endpoint.path}?${name}`)).toEqual([]);
});

const IDS = endpoints.flatMap((endpoint) =>
  queriesOf(endpoint)
    // The audit also has ids of calls and of vendors.
    .filter(([name]) => /_id$/.test(name) && endpoint.path !== '/api/audit')
    .map(([name]) => ({ title: `${endpoint.method} ${endpoint.path}?${name}`, endpoint, name })),
);

it.each(IDS)('$title knows no malformed id', async ({ endpoint, name }) => {
  const path = await world.pathOf({ method: endpoint.method, path: endpoint.path } as never);
  for (const id of ['no-such-id', '507f1f77bcf86cd799439011', '%20']) {
    const answer = await here.alice.send(endpoint.method, `${path}?${name}=${id}`);
    expect([answer.status, answer.body.code, differences(endpoint, answer)]).toEqual([404, 'not_found', null]);
    expect(answer.body.detail).toContain(name);
  }
});

// The id that a page gives to its chat is its own, and names nothing here.
const NESTED = endpoints.filter(
  ({ path, access }) => access !== null && path.startsWith('/api/') && path.split('{').length > 2 && !path.includes('{chat_id}'),
);

it.each(titled(NESTED))(
  '%s answers 404 to its owner for a last id that does not exist, and 403 to others',
  async (_, endpoint) => {
    const body = described(endpoint);
    const place = await world.pathOf({
      method: endpoint.method,
      path: endpoint.path.replace(/\{\w+\}(?=[^{]*$)/, 'LAST'),
    } as never);
    for (const id of [UNKNOWN, 'no-such-id', '999999']) {
      const answer = await here.alice.send(endpoint.method, place.replace('LAST', id), { body });
      expect([answer.status, answer.body.code, differences(endpoint, answer)]).toEqual([404, 'not_found', null]);
      if (!/^\/api\/(workflows|tasks|datasets|threads)\//.test(endpoint.path)) continue;
      // A path that cannot be one is unknown to everybody.
      const malformed = answer.body.detail.endsWith('does not contain a valid id');
      const { status } = await here.bob.send(endpoint.method, place.replace('LAST', id), { body });
      expect(status).toBe(malformed ? 404 : 403);
    }
  },
);

describe('a record that was read with warnings', () => {
  const RECORDS: [string, () => object][] = [
    ['guardrails', () => ({ name: 'guards nothing', guardrail_type: 'prompt', config: {} })],
    ['knowledge-sources', () => ({ name: 'cannot be searched', source_type: 'vector_db' })],
    [
      'custom-tools',
      () => ({ name: 'bash', source_code: 'def bash():\n    return 1\n', env_config: { KEY: { token_name: 'nowhere' } } }),
    ],
    ['agents', () => ({ name: 'skips', custom_tool_ids: [world.ids['custom-tools']] })],
    ['providers', () => ({ name: 'keyless', provider_type: 'openai', api_key_token_name: 'nowhere' })],
    ['workflows', () => ({ agent_id: world.ids.agents, repo_token_name: 'nowhere' })],
  ];
  it.each(RECORDS)('of %s can be sent back under strict handling', async (collection, body) => {
    const { id } = await here.alice.ok(here.alice.post(`/api/${collection}`, body()), 201);
    const path = `/api/${collection}/${id}`;
    const record = (await here.alice.get(path)).body;
    expect([...(record.warnings ?? []), ...(record.needs ?? [])]).not.toEqual([]);
    const strict = { prefer: 'handling=strict' };
    const saved = await here.alice.put(path, record, strict);
    expect([saved.status, saved.body.errors]).toEqual([200, undefined]);
    expect((await here.alice.put(path, { ...record, zzq_unheard_of: 1 }, strict)).status).toBe(422);
  });
});
