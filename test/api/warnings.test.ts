import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type World, worldOf } from './contract-world.ts';

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  example?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  minLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
}
interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> };
}

let home: TestInstallation;
let world: World;
let schemas: Record<string, Schema>;
let operations: { method: string; path: string; body: Schema }[];

beforeAll(async () => {
  home = await startTestInstallation();
  world = await worldOf(home);
  // The token that an example names.
  await home.alice.ok(home.alice.post('/api/tokens', { name: 'weather-key', value: 'x' }), 201);
  const { paths, components } = (await home.anonymous.get('/openapi.json')).body;
  schemas = components.schemas;
  operations = Object.entries(paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const body = requestBody?.content['application/json']?.schema;
      return body && path.startsWith('/api/') ? [{ method: method.toUpperCase(), path, body }] : [];
    }),
  );
});
afterAll(() => home.stop());

const resolved = (schema: Schema): Schema =>
  schema.$ref ? resolved(schemas[schema.$ref.split('/').at(-1) as string] as Schema) : schema;

/** Something that the schema takes. */
function sampleOf(given: Schema): any {
  const schema = resolved(given);
  if (schema.example !== undefined) return schema.example;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return sampleOf(schema.anyOf.find((one) => resolved(one).type !== 'null') as Schema);
  if (schema.type === 'array') return [];
  if (schema.type === 'string') return 'x'.repeat(schema.minLength ?? 1);
  if (schema.type === 'integer' || schema.type === 'number') return Math.max(1, schema.minimum ?? 0);
  if (schema.type === 'boolean') return false;
  return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] as Schema)]));
}

type Place = (body: any, change: (object: Record<string, unknown>) => void) => any;

/** Every object inside a body, with how to reach it; `any` keys of records stand for all. */
function objectsIn(given: Schema, at: string, reach: Place): { at: string; reach: Place }[] {
  const schema = resolved(given);
  const inside = (inner: Schema, key: string, path: string) =>
    objectsIn(inner, path, (body, change) =>
      reach(body, (object) => {
        object[key] ??= sampleOf(inner);
        const held = { [key]: object[key] };
        change(held[key] as never);
      }),
    );
  if (schema.anyOf) return schema.anyOf.flatMap((one) => (resolved(one).type === 'null' ? [] : objectsIn(one, at, reach)));
  if (schema.type === 'array' && schema.items)
    return objectsIn(schema.items, `${at}.0`, (body, change) =>
      reach(body, (list) => {
        const items = list as unknown as unknown[];
        if (items.length === 0) items.push(sampleOf(schema.items as Schema));
        change(items[0] as never);
      }),
    );
  if (schema.type !== 'object') return [];
  const { additionalProperties: more, properties = {} } = schema;
  const own = more === undefined || more === false ? [{ at, reach }] : [];
  const named = Object.entries(properties).flatMap(([name, inner]) => inside(inner, name, at ? `${at}.${name}` : name));
  return [...own, ...named, ...(typeof more === 'object' ? inside(more, 'ANY', `${at}.ANY`) : [])];
}

const whole: Place = (body, change) => {
  change(body);
  return body;
};

const FIELD = 'zzq_unheard_of';
const mentions = (found: { path: string }[] | undefined) => (found ?? []).some(({ path }) => path.endsWith(FIELD));

const warnedOf = ({ body, headers }: Reply): boolean =>
  mentions((body as { warnings?: [] }).warnings) ||
  (headers.get('x-warnings') ?? '').includes(FIELD) ||
  String(body).includes(FIELD);

describe('a field that nothing reads', () => {
  it('is a warning or a refusal at every level of every body', async () => {
    let places = 0;
    let made = 0;
    const silent: string[] = [];
    for (const { method, path, body: schema } of operations) {
      const row = { method, path, request: 'x', response: '' } as never;
      for (const { at, reach } of objectsIn(schema, '', whole)) {
        places += 1;
        const valid = structuredClone({ ...(sampleOf(schema) as object), ...world.bodyOf(row) });
        const body = reach(valid, (object) => Object.assign(object, { [FIELD]: 1 }));
        const url = await world.pathOf(row);
        const strict = await home.alice.send(method, url, { body, headers: { prefer: 'handling=strict' } });
        const label = `${method} ${path} ${at}`;
        if (strict.status !== 422 || !mentions(strict.body.errors)) silent.push(`${label}: strict ${strict.status}`);
        const plain = await home.alice.send(method, url, { body });
        if (plain.status < 300) made += 1;
        // Refused for another reason: that strict handling finds the field was seen above.
        const told = plain.status >= 300 || warnedOf(plain);
        if (!told) silent.push(`${label}: ${plain.status} ${JSON.stringify(plain.body).slice(0, 300)}`);
      }
    }
    expect(silent).toEqual([]);
    expect(places).toBeGreaterThan(50);
    expect(made).toBeGreaterThan(30);
  });

  it('is named with what may have been meant', async () => {
    const body = { name: 'p1', provider_type: 'openai', api_key: 'sk-x' };
    const { warnings, ...provider } = await home.alice.ok(home.alice.post('/api/providers', body), 201);
    expect(warnings).toEqual([
      { path: 'api_key', message: '`api_key` is not a field of a provider; did you mean `api_key_token_name`?' },
    ]);
    expect((await home.alice.get(`/api/providers/${provider.id}`)).body).toEqual(provider);
  });

  it('refuses what protects: configurations of guardrails, budgets, and near misses of the fields that protect', async () => {
    const refusals: [string, object, string][] = [
      ['guardrails', { name: 'g1', guardrail_type: 'prompt', config: { forbiden_patterns: ['x'] } }, 'config.forbiden_patterns'],
      ['guardrails', { name: 'g1', guardrail_type: 'output', config: { pii: true, max_length: 5 } }, 'config.pii'],
      ['guardrails', { name: 'g1', guardrail_type: 'prompt', config: { max_length: '5' } }, 'config.max_length'],
      ['workflows', { agent_id: world.ids.agents, budget: { max_cost: 1 } }, 'budget.max_cost'],
      ['workflows', { agent_id: world.ids.agents, guardrails_ids: [] }, 'guardrails_ids'],
      ['agents', { name: 'a1', approval_tool: ['x'] }, 'approval_tool'],
    ];
    for (const [collection, body, path] of refusals) {
      const answer = await home.alice.post(`/api/${collection}`, body);
      expect([answer.status, answer.body.errors?.map((error: { path: string }) => error.path)]).toEqual([422, [path]]);
    }
    const { body } = await home.alice.post('/api/guardrails', refusals[0]?.[1]);
    expect(body.detail).toContain('did you mean `forbidden_patterns`?');
  });
});

describe('strict handling', () => {
  it('writes nothing and says that it was applied', async () => {
    const strict = { prefer: 'respond-async, handling=strict' };
    const answer = await home.alice.post('/api/skills', { name: 's1', instructions: 'x', colour: 'red' }, strict);
    expect(answer).toMatchObject({ status: 422, body: { code: 'strict_handling', errors: [{ path: 'colour' }] } });
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    expect((await home.alice.get('/api/skills?q=s1')).body).toEqual([]);
    const known = await home.alice.post('/api/skills', { name: 's1', instructions: 'x' }, strict);
    expect(known).toMatchObject({ status: 201, body: { name: 's1' } });
    expect(known.headers.get('preference-applied')).toBe('handling=strict');
  });

  it('tries an import before it writes', async () => {
    const workflow = { agent_id: world.ids.agents, title: 'strictly', repo_token_name: 'no-such-token' };
    const answer = await home.alice.post('/api/workflows/import', { items: [workflow] }, { prefer: 'handling=strict' });
    expect(answer).toMatchObject({ status: 422, body: { code: 'strict_handling' } });
    expect((await home.alice.get('/api/workflows?q=strictly')).body).toEqual([]);
  });
});

describe('warnings and states', () => {
  it('are no part of the record: tags and repetitions stay right', async () => {
    const body = { name: 's2', instructions: 'x', colour: 'red' };
    const key = { 'idempotency-key': 'warned-once' };
    const made = await home.alice.post('/api/skills', body, key);
    const again = await home.alice.post('/api/skills', body, key);
    expect(again).toMatchObject({ status: 200, body: made.body });
    expect(made.body.warnings).toHaveLength(1);
    const read = await home.alice.get(`/api/skills/${made.body.id}`);
    expect(read.headers.get('etag')).toBe(made.headers.get('etag'));
    const changed = await home.alice.put(
      `/api/skills/${made.body.id}`,
      { tags: ['a'], colour: 'red' },
      { 'if-match': made.headers.get('etag') as string },
    );
    expect(changed.status).toBe(200);
    expect((await home.alice.get(`/api/skills/${made.body.id}`)).headers.get('etag')).toBe(changed.headers.get('etag'));
  });

  it('let a client write back what it has read, and tell of a field that only the service sets', async () => {
    const { id } = await home.alice.ok(home.alice.post('/api/skills', { name: 's3', instructions: 'x' }));
    const { body: read } = await home.alice.get(`/api/skills/${id}`);
    const same = await home.alice.put(`/api/skills/${id}`, { ...read, tags: ['b'] });
    expect(same.status).toBe(200);
    expect(same.body.warnings).toBeUndefined();
    const other = await home.alice.put(`/api/skills/${id}`, { ...read, created_by: 'someone:else' });
    expect(other.body.warnings).toEqual([{ path: 'created_by', message: expect.stringContaining('set by the service') }]);
  });

  it('go into a header where the answer has no room', async () => {
    const answer = await home.alice.get('/api/skills?sort=name');
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.headers.get('x-warnings') as string)).toEqual([{ path: 'sort', message: expect.any(String) }]);
    expect(await home.alice.get('/api/skills?tagg=x')).toMatchObject({ status: 422, body: { errors: [{ path: 'tagg' }] } });
  });
});
