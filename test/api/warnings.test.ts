import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../support/client.ts';
import { describedBodies, type Schema } from '../support/contract/described-bodies.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type World, worldOf } from './contract-world.ts';

interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> };
}

let here: TestInstallation;
let world: World;
let schemas: Record<string, Schema>;
let bodies: ReturnType<typeof describedBodies>;
let operations: { method: string; path: string; body: Schema }[];

beforeAll(async () => {
  here = await shareInstallation();
  world = await worldOf(here);
  // The token that an example names.
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'weather-key', value: 'x' }), 201);
  const { paths, components } = (await here.anonymous.get('/openapi.json')).body;
  schemas = components.schemas;
  bodies = describedBodies(schemas);
  operations = Object.entries(paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const body = requestBody?.content['application/json']?.schema;
      return body && path.startsWith('/api/') ? [{ method: method.toUpperCase(), path, body }] : [];
    }),
  );
});
afterAll(() => here.stop());

/** Objects that take any field, by the name of theirs: nobody could say what is unknown in them. */
const FREE: Record<string, string> = {
  metadata: "the client's own facts about a record",
  request: "the client's own JSON, handed to the model as it is",
  arguments: 'arguments of a tool, judged against its schema when it is called',
  content: 'an answer, judged against the fields of its question',
  parameters_schema: 'a JSON Schema',
  output_schema: 'a JSON Schema',
  json_schema: 'a JSON Schema',
  tool_definitions: 'a definition for the model alone, passed on as it is',
  function: 'part of such a definition',
  parameters: 'a JSON Schema',
  env: 'variables of a program by their names',
  headers: 'headers by their names',
  credential_overrides: 'stored tokens by the variables that they fill',
  env_mapping: 'the same',
};

/** Operations whose body is a file that Perdura wrote for something else, or what a client of another protocol sends: they read a part of it. */
const FILES = ['POST /api/datasets/{id}/items/import', 'POST /api/threads/{id}/ui', 'POST /api/threads/{id}/ag-ui'];

const FIELD = 'zzq_unheard_of';
const mentions = (found: { path: string }[] | undefined) => (found ?? []).some(({ path }) => path.endsWith(FIELD));

const warnedOf = ({ body, headers }: Reply): boolean =>
  mentions((body as { warnings?: [] }).warnings) ||
  (headers.get('x-warnings') ?? '').includes(FIELD) ||
  String(body).includes(FIELD);

/** An import creates what it can; an item with an unknown field in what protects is not among that. */
function failsInImport({ status, body }: Reply): boolean {
  const { errors, ...parts } = body as { errors?: string[] };
  const all = [errors ?? [], ...Object.values(parts).map((part) => Object(part).errors ?? [])].flat();
  return status === 201 && all.some((error) => String(error).includes(FIELD));
}

/** Configurations whose fields another field of the record decides; each as the record takes it. */
const CONFIGURED: Record<string, { schema: string; field: string; by: string; refuses?: true; valid: Record<string, object> }> = {
  guardrails: {
    ...{ schema: 'GuardrailCreate', field: 'config', by: 'guardrail_type', refuses: true },
    valid: { prompt: { max_length: 9 }, request: { json_schema: { type: 'object' } }, output: { pii_detection: true } },
  },
  mcps: {
    ...{ schema: 'McpServerCreate', field: 'connection_config', by: 'transport_type' },
    valid: { stdio: { command: 'true' }, http: { url: 'http://127.0.0.1:1/' }, sse: { url: 'http://127.0.0.1:1/' } },
  },
  'knowledge-sources': {
    ...{ schema: 'KnowledgeSourceCreate', field: 'connection_config', by: 'source_type' },
    valid: {
      builtin: {},
      vector_db: { url: 'http://127.0.0.1:1', collection: 'c' },
      pgvector: { url: 'postgres://u@127.0.0.1:1/d', table: 't' },
    },
  },
};

describe('a field that nothing reads', () => {
  it('is found in the configuration of every type, in a new record, a change and an import', async () => {
    for (const [collection, { schema, field, by, refuses, valid }] of Object.entries(CONFIGURED)) {
      const types = schemas[schema]?.properties?.[by]?.enum as string[];
      expect([collection, Object.keys(valid).sort()]).toEqual([collection, [...types].sort()]);
      for (const [type, config] of Object.entries(valid)) {
        const record = { name: `${collection} ${type}`, [by]: type, [field]: config };
        const wrong = { [field]: { ...config, [FIELD]: 1 } };
        const made = await here.alice.ok(here.alice.post(`/api/${collection}`, record), 201);
        expect([type, made.warnings]).toEqual([type, undefined]);
        const path = `/api/${collection}/${made.id}`;
        const strict = { prefer: 'handling=strict' };
        const created = { ...record, ...wrong, name: `${record.name} again` };
        for (const answer of [
          await here.alice.post(`/api/${collection}`, created, strict),
          await here.alice.put(path, wrong, strict),
          ...(refuses ? [await here.alice.post(`/api/${collection}`, created), await here.alice.put(path, wrong)] : []),
        ])
          expect([type, answer.status, mentions(answer.body.errors)]).toEqual([type, 422, true]);
        if (!refuses)
          for (const answer of [await here.alice.post(`/api/${collection}`, created), await here.alice.put(path, wrong)])
            expect([type, answer.status < 300, answer.body.warnings?.[0]?.path]).toEqual([type, true, `${field}.${FIELD}`]);
        if (collection === 'mcps') continue;
        const imported = await here.alice.post(`/api/${collection}/import`, { items: [{ ...created, name: `${type} import` }] });
        expect([type, warnedOf(imported) || failsInImport(imported)]).toEqual([type, true]);
      }
    }
  });

  it('is a warning or a refusal at every level of every body', async () => {
    let places = 0;
    let made = 0;
    const silent: string[] = [];
    const exempt = new Set<string>();
    expect(operations.filter(({ method, path }) => FILES.includes(`${method} ${path}`))).toHaveLength(FILES.length);
    for (const { method, path, body: schema } of operations) {
      if (FILES.includes(`${method} ${path}`)) continue;
      const row = { method, path, request: 'x', response: '' } as never;
      for (const { at, reach, free } of bodies.objectsIn(schema)) {
        const named = at
          .replaceAll(/\.(?:0|ANY)\b/g, '')
          .split('.')
          .at(-1) as string;
        if (free && named in FREE) {
          exempt.add(named);
          continue;
        }
        places += 1;
        const valid = structuredClone({ ...(bodies.sampleOf(schema) as object), ...world.bodyOf(row) });
        const body = reach(valid, (object) => Object.assign(object, { [FIELD]: 1 }));
        const url = await world.pathOf(row);
        const strict = await here.alice.send(method, url, { body, headers: { prefer: 'handling=strict' } });
        const label = `${method} ${path} ${at}`;
        const refused = strict.status === 422 ? mentions(strict.body.errors) : failsInImport(strict);
        if (!refused) silent.push(`${label}: strict ${strict.status}`);
        const plain = await here.alice.send(method, url, { body });
        if (plain.status < 300) made += 1;
        // Refused for another reason: that strict handling finds the field was seen above.
        const reported = plain.status >= 300 || warnedOf(plain) || failsInImport(plain);
        if (!reported) silent.push(`${label}: ${plain.status} ${JSON.stringify(plain.body).slice(0, 300)}`);
      }
    }
    expect(silent).toEqual([]);
    expect([...exempt].sort()).toEqual(Object.keys(FREE).sort());
    expect(places).toBeGreaterThan(50);
    expect(made).toBeGreaterThan(30);
  });

  it('is named with what may have been meant', async () => {
    const body = { name: 'p1', provider_type: 'openai', api_key: 'sk-x' };
    const { warnings, ...provider } = await here.alice.ok(here.alice.post('/api/providers', body), 201);
    expect(warnings).toEqual([
      { path: 'api_key', message: '`api_key` is not a field of a provider; did you mean `api_key_token_name`?' },
    ]);
    expect((await here.alice.get(`/api/providers/${provider.id}`)).body).toEqual(provider);
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
      const answer = await here.alice.post(`/api/${collection}`, body);
      expect([answer.status, answer.body.errors?.map((error: { path: string }) => error.path)]).toEqual([422, [path]]);
    }
    const { body } = await here.alice.post('/api/guardrails', refusals[0]?.[1]);
    expect(body.detail).toContain('did you mean `forbidden_patterns`?');
  });
});

describe('a guardrail that guards nothing', () => {
  it.for([
    ['prompt', {}, 'config'],
    ['prompt', { forbidden_patterns: [], min_length: 0 }, 'config'],
    ['request', { json_schema: {} }, 'config.json_schema'],
    ['output', {}, 'config'],
    ['output', { action: 'block', pii_detection: false }, 'config'],
  ] as const)('is a warning: %s %j', async ([guardrail_type, config, path], { task }) => {
    const body = { name: task.id, guardrail_type, config };
    const strict = await here.alice.post('/api/guardrails', body, { prefer: 'handling=strict' });
    expect([strict.status, strict.body.errors?.[0]?.path]).toEqual([422, path]);
    const { id, warnings } = await here.alice.ok(here.alice.post('/api/guardrails', body), 201);
    expect(warnings).toEqual([{ path, message: expect.stringContaining(path === 'config' ? 'guards nothing' : 'any JSON') }]);
    const of = `/api/guardrails/${id}`;
    expect((await here.alice.get(of)).body.warnings).toEqual(warnings);
    expect((await here.alice.put(of, { tags: ['x'] })).body.warnings).toEqual(warnings);
    const rule = guardrail_type === 'request' ? { json_schema: { type: 'object' } } : { max_length: 0 };
    expect((await here.alice.put(of, { config: rule })).body.warnings).toBeUndefined();
    expect((await here.alice.get(of)).body.warnings).toBeUndefined();
    const items = [{ ...body, name: `${task.id} again` }];
    const imported = await here.alice.ok(here.alice.post('/api/guardrails/import', { items }), 201);
    expect([imported.created, imported.warnings]).toEqual([1, [{ path: `items.0.${path}`, message: warnings[0].message }]]);
  });

  it.for(['forbidden_patterns', 'required_patterns', 'min_length', 'max_length', 'pii_detection', 'must_be_valid_json'])(
    'is not one with %s',
    async (field, { task }) => {
      const value = field.endsWith('patterns') ? ['x'] : field.endsWith('length') ? 1 : true;
      const guardrail_type = /pii|json/.test(field) ? 'output' : 'prompt';
      const body = { name: task.id, guardrail_type, config: { [field]: value } };
      expect((await here.alice.ok(here.alice.post('/api/guardrails', body), 201)).warnings).toBeUndefined();
    },
  );
});

describe('an agent whose runs would lack or rename something', () => {
  const FUNCTION = { type: 'function', function: { name: 'read' } };
  const toolOf = async (name: string) =>
    (await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code: `def ${name}():\n    return 1\n` }), 201)).id;

  it.for<[string, () => Promise<object>, string, string]>([
    [
      'custom tools without a provider',
      async () => ({ custom_tool_ids: [await toolOf('lacking')], provider_id: null }),
      'custom_tool_ids',
      'The default runtime takes no custom tools',
    ],
    [
      'a built-in tool that is not configured',
      async () => ({ builtin_tools: ['read', 'web_search'] }),
      'builtin_tools',
      '`web_search` is not configured in this installation',
    ],
    [
      'a function with the name of its built-in tool',
      async () => ({ builtin_tools: ['read'], tool_definitions: [FUNCTION] }),
      'tool_definitions',
      'this one is offered as defined_read',
    ],
  ])('is warned of: %s', async ([, values, path, message], { task }) => {
    const { alice } = here;
    const warnings = [{ path, message: expect.stringContaining(message) }];
    const made = await alice.ok(alice.post('/api/agents', { name: task.id, ...(await values()) }), 201);
    expect(made.warnings).toEqual(warnings);
    expect((await alice.get(`/api/agents/${made.id}`)).body.warnings).toEqual(warnings);
    expect((await alice.put(`/api/agents/${made.id}`, { description: 'x' })).body.warnings).toEqual(warnings);
  });

  it('is not, with a provider, tools that are there and names that differ', async () => {
    const values = { name: 'complete', provider_id: world.ids.providers, custom_tool_ids: [await toolOf('complete')] };
    const body = { ...values, builtin_tools: ['write'], tool_definitions: [FUNCTION] };
    expect((await here.alice.ok(here.alice.post('/api/agents', body), 201)).warnings).toBeUndefined();
  });
});

describe('strict handling', () => {
  it('writes nothing and says that it was applied', async () => {
    const strict = { prefer: 'respond-async, handling=strict' };
    const answer = await here.alice.post('/api/skills', { name: 's1', instructions: 'x', colour: 'red' }, strict);
    expect(answer).toMatchObject({ status: 422, body: { code: 'strict_handling', errors: [{ path: 'colour' }] } });
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    expect((await here.alice.get('/api/skills?q=s1')).body).toEqual([]);
    const known = await here.alice.post('/api/skills', { name: 's1', instructions: 'x' }, strict);
    expect(known).toMatchObject({ status: 201, body: { name: 's1' } });
    expect(known.headers.get('preference-applied')).toBe('handling=strict');
  });

  it('tries an import before it writes', async () => {
    const workflow = { agent_id: world.ids.agents, title: 'strictly', repo_token_name: 'no-such-token' };
    const answer = await here.alice.post('/api/workflows/import', { items: [workflow] }, { prefer: 'handling=strict' });
    expect(answer).toMatchObject({ status: 422, body: { code: 'strict_handling' } });
    expect((await here.alice.get('/api/workflows?q=strictly')).body).toEqual([]);
  });
});

describe('warnings and states', () => {
  it('are not stored with the record, so ETags and repeated requests are unaffected', async () => {
    const body = { name: 's2', instructions: 'x', colour: 'red' };
    const key = { 'idempotency-key': 'warned-once' };
    const made = await here.alice.post('/api/skills', body, key);
    const again = await here.alice.post('/api/skills', body, key);
    expect(again).toMatchObject({ status: 200, body: made.body });
    expect(made.body.warnings).toHaveLength(1);
    const read = await here.alice.get(`/api/skills/${made.body.id}`);
    expect(read.headers.get('etag')).toBe(made.headers.get('etag'));
    const changed = await here.alice.put(
      `/api/skills/${made.body.id}`,
      { tags: ['a'], colour: 'red' },
      { 'if-match': made.headers.get('etag') as string },
    );
    expect(changed.status).toBe(200);
    expect((await here.alice.get(`/api/skills/${made.body.id}`)).headers.get('etag')).toBe(changed.headers.get('etag'));
  });

  it('let a client write back what it has read, and name a field that only the service sets', async () => {
    const { id } = await here.alice.ok(here.alice.post('/api/skills', { name: 's3', instructions: 'x' }));
    const { body: read } = await here.alice.get(`/api/skills/${id}`);
    const same = await here.alice.put(`/api/skills/${id}`, { ...read, tags: ['b'] });
    expect(same.status).toBe(200);
    expect(same.body.warnings).toBeUndefined();
    const other = await here.alice.put(`/api/skills/${id}`, { ...read, created_by: 'someone:else' });
    expect(other.body.warnings).toEqual([{ path: 'created_by', message: expect.stringContaining('set by the service') }]);
  });

  it('go into a header where the answer has no room', async () => {
    const answer = await here.alice.get('/api/skills?sort=name');
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.headers.get('x-warnings') as string)).toEqual([{ path: 'sort', message: expect.any(String) }]);
    const odd = await here.alice.get('/api/skills?gr%C3%B6%C3%9Fe=1');
    expect(JSON.parse(odd.headers.get('x-warnings') as string)).toEqual([
      { path: 'größe', message: expect.stringContaining('größe') },
    ]);
    expect(await here.alice.get('/api/skills?tagg=x')).toMatchObject({ status: 422, body: { errors: [{ path: 'tagg' }] } });
  });
});
