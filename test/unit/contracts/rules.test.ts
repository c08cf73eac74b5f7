import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentCreate } from '../../../src/contracts/agents.ts';
import {
  alsoTaken,
  FilterQuery,
  fieldAliases,
  isProtective,
  isStorable,
  protective,
  QueryInt,
  toolSchema,
  toPatchSchema,
} from '../../../src/contracts/common.ts';
import { CustomToolCreate, EnvConfig } from '../../../src/contracts/custom-tools.ts';
import { crud, endpoint, IdParams } from '../../../src/contracts/endpoint.ts';
import { GuardrailCreate } from '../../../src/contracts/guardrails.ts';
import { KnowledgeSourceCreate, KnowledgeUpload } from '../../../src/contracts/knowledge.ts';
import { UrlConfig } from '../../../src/contracts/mcps.ts';
import { ProviderCreate } from '../../../src/contracts/providers.ts';
import { ScheduledAgentCreate } from '../../../src/contracts/scheduled-agents.ts';
import { tasks } from '../../../src/contracts/tasks.ts';
import { StoredTokenCreate } from '../../../src/contracts/tokens.ts';
import { FullImport } from '../../../src/contracts/transfer.ts';
import { UsageTotals } from '../../../src/contracts/usage-counts.ts';
import { WorkflowCreate, workflows } from '../../../src/contracts/workflows.ts';

const ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const messages = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues.map(({ message }) => message);

describe('a field with a rule', () => {
  const field = (schema: z.ZodObject, name: string) => schema.shape[name] as z.ZodType;

  it.each<[string, z.ZodType, unknown[], unknown[]]>([
    [
      'the name of a tool is that of a Python function',
      field(CustomToolCreate, 'name'),
      ['a', '_a1', 'A'.repeat(64)],
      ['', '1a', 'a-b', 'a b', ' a', 'a '.trimEnd().concat('!'), 'A'.repeat(65)],
    ],
    [
      'a variable of a tool has the name of one',
      EnvConfig,
      [{ A: {} }, { _a1: {} }],
      [{ '1A': {} }, { 'A-B': {} }, { '': {} }, { ' A': {} }],
    ],
    ['the name of a token', field(StoredTokenCreate, 'name'), ['a', 'a.b-c_D9'], ['', 'a b', 'a/b', ' a', 'a\n']],
    [
      'a repository has no user in its URL',
      field(WorkflowCreate, 'repo_url'),
      ['https://git.example/a/b.git', 'https://git.example', 'https://git.example/a@b', null],
      ['http://git.example/a', 'https://me:pw@git.example/a', 'https://me@git.example', 'ssh://git.example/a', 'git.example/a'],
    ],
    [
      'a branch',
      field(WorkflowCreate, 'repo_branch'),
      ['main', 'feature/a-b', 'v1.0', 'm', null],
      ['', '-x', ' x', 'a b', 'a~1', 'a^', 'a:b', 'a?', 'a*', 'a[b', 'a\\b'],
    ],
    [
      'a webhook goes to the web',
      field(WorkflowCreate, 'webhook_url'),
      ['http://a.example', 'https://a.example/x', null],
      ['ftp://a.example', 'httpss://a.example', 'xhttp://a.example', 'a.example'],
    ],
    [
      'an MCP server is on the web, or stays as it is',
      field(UrlConfig, 'url'),
      ['http://a.example', 'https://a.example/mcp', '********'],
      ['ws://a.example', 'xhttps://a.example', 'httpsx://a.example', '*'],
    ],
    [
      'a schedule starts in a year that the engine can hold',
      field(ScheduledAgentCreate, 'start_at'),
      ['1970-01-01T00:00:00Z', '2999-12-31T23:59:59Z', '2026-01-31T12:00:00+02:00', undefined],
      ['1969-12-31T23:59:59Z', '3000-01-01T00:00:00Z', '1960-01-01T00:00:00Z', '2026-01-31', 'soon'],
    ],
    [
      'the name of a defined function',
      field(AgentCreate, 'tool_definitions'),
      [[{ function: { name: 'a-B_9' } }], [{ type: 'function', function: { name: 'x'.repeat(64), more: 1 }, more: 1 }]],
      [
        [{ function: { name: 'a b' } }],
        [{ function: { name: '' } }],
        [{ function: { name: 'x'.repeat(65) } }],
        [{ type: 'x', function: { name: 'a' } }],
      ],
    ],
    [
      'the version of a bundle',
      field(FullImport, 'version'),
      ['1.0', '1.12'],
      ['2.0', '1', '1.', '1.x', '11.0', '1.0.0', 'v1.0'],
    ],
  ])('%s', (_, schema, accepted, refused) => {
    for (const value of accepted) expect([value, messages(schema, value)]).toEqual([value, undefined]);
    for (const value of refused) expect([value, schema.safeParse(value).success]).toEqual([value, false]);
  });

  it('turns a time with any offset into UTC', () => {
    const { start_at } = ScheduledAgentCreate.shape;
    expect(start_at.parse('2026-01-31T12:00:00+02:00')).toBe('2026-01-31T10:00:00.000Z');
  });

  it('limits the schema of a tool to what every request can carry', () => {
    const schema = toolSchema(z.record(z.string(), z.unknown()));
    const ofLength = (characters: number) => ({ a: 'x'.repeat(characters - '{"a":""}'.length) });
    expect(messages(schema, ofLength(64_000))).toBeUndefined();
    expect(messages(schema, ofLength(64_001))).toEqual(['The schema of a tool may have 64000 characters']);
  });

  it('takes either a prompt or a request', () => {
    const body = workflows.prompt.body;
    const both = ['Send exactly one of prompt and request'];
    expect(body.safeParse({ prompt: 'x' }).success).toBe(true);
    expect(body.safeParse({ request: {} }).success).toBe(true);
    expect(messages(body, {})).toEqual(both);
    expect(messages(body, { prompt: 'x', request: {} })).toEqual(both);
    expect(body.safeParse({}).error?.issues[0]?.path).toEqual(['prompt']);
  });

  it('reads which parts of a run are asked for', () => {
    const { query } = tasks.get;
    expect(query.parse({})).toEqual({ include: ['messages', 'logs'] });
    expect(query.parse({ include: '' })).toEqual({ include: [] });
    expect(query.parse({ include: ' steps , logs,,' })).toEqual({ include: ['steps', 'logs'] });
    expect(messages(query, { include: 'steps,prices' })).toEqual(['`include` takes messages, logs, steps, comma separated']);
  });

  it('reads the tags of an upload as a list or as JSON', () => {
    const tags = (text?: string) => KnowledgeUpload.safeParse({ source_id: ID, tags: text });
    expect(tags().data?.tags).toEqual([]);
    expect(tags('a, b ,,c').data?.tags).toEqual(['a', 'b', 'c']);
    expect(tags(' [" a", "", "b"]').data?.tags).toEqual(['a', 'b']);
    for (const wrong of ['[1]', '[', '["a"'])
      expect(tags(wrong).error?.issues.map(({ message }) => message)).toEqual([
        '`tags` must be comma separated, or a JSON array of text',
      ]);
  });

  it('counts usage under both names', () => {
    const counts = { total_in: 1, total_out: 2, cost: 0.5, cache_read: 3, cache_write: 4, premium_requests: 5 };
    const named = { total_input_tokens: 1, total_output_tokens: 2, total_cost: 0.5, total_premium_requests: 5 };
    expect(UsageTotals.parse(counts)).toEqual({ ...counts, estimated: false, priced: true, ...named });
  });
});

describe('another spelling', () => {
  const read = (schema: z.ZodType, value: unknown) => fieldAliases(schema).read?.(value);

  it('of a variable names its token', () => {
    const variable = EnvConfig.valueType as unknown as z.ZodType;
    expect(read(variable, '{{token:a}}')).toEqual({ token_name: 'a' });
    expect(read(variable, '{{  token:a  }}')).toEqual({ token_name: 'a' });
    expect(read(variable, 'a')).toEqual({ token_name: 'a' });
    expect(read(variable, '{{token:weather-key}}')).toEqual({ token_name: 'weather-key' });
    expect(read(variable, 'x {{token:a}}')).toEqual({ token_name: 'x {{token:a}}' });
    expect(read(variable, '{{token:a}} x')).toEqual({ token_name: '{{token:a}} x' });
    expect(read(variable, { token_name: 'a' })).toEqual({ token_name: 'a' });
  });

  it('of a type is read as ours, and any other stays what it is', () => {
    const source = KnowledgeSourceCreate.shape.source_type.unwrap();
    expect([read(source, 'mongo_db'), read(source, 'pgvector')]).toEqual(['builtin', 'pgvector']);
    const provider = ProviderCreate.shape.provider_type;
    expect([read(provider, 'custom'), read(provider, 'openai')]).toEqual(['openai_compatible', 'openai']);
  });

  it('is known by the schema that has it', () => {
    const schema = z.string();
    expect(fieldAliases(schema)).toEqual({});
    expect(alsoTaken(schema, { names: ['b'] })).toBe(schema);
    expect(fieldAliases(schema)).toEqual({ names: ['b'] });
    expect(fieldAliases(GuardrailCreate.shape.config.unwrap()).names).toContain('output_config');
  });
});

describe('what protects', () => {
  it('is known, and an object among it refuses unknown fields', () => {
    expect(isProtective(z.string())).toBe(false);
    expect(isProtective(protective(z.string()))).toBe(true);
    const object = protective(z.object({ a: z.string() }));
    expect(isProtective(object)).toBe(true);
    expect(messages(object, { a: 'x', b: 1 })).toEqual(['It has unknown fields: b']);
    expect(z.object({ a: z.string() }).safeParse({ a: 'x', b: 1 }).success).toBe(true);
  });
});

describe('helpers of contracts', () => {
  it('separate text that Postgres takes from text that it does not', () => {
    expect([isStorable('a😀'), isStorable('a\u0000'), isStorable('a\ud83d')]).toEqual([true, false, false]);
  });

  it('read a whole number from a query, within its limits', () => {
    const limit = QueryInt(1, 10, 5);
    expect([limit.parse(undefined), limit.parse('1'), limit.parse('10')]).toEqual([5, 1, 10]);
    for (const wrong of ['0', '11', '1.5', 'x']) expect(limit.safeParse(wrong).success).toBe(false);
  });

  it('make a patch without defaults, so that a key that was not sent stays absent', () => {
    const patch = toPatchSchema(z.object({ a: z.string().default('x'), b: z.int(), c: z.string().nullable().default(null) }));
    expect(patch.parse({})).toEqual({});
    expect(patch.parse({ c: null, b: 1 })).toEqual({ b: 1, c: null });
    expect(messages(patch, { a: 1 })).toEqual(['`a` must be text']);
  });

  it('declare an operation with what follows from its route', () => {
    const text = { operation: 'x', tag: 'X', summary: 'X' };
    const made = endpoint('GET /api/a/{id}/b/{other_id}', text);
    expect(made).toMatchObject({ ...text, method: 'GET', path: '/api/a/{id}/b/{other_id}', kind: 'none', status: 204 });
    expect(made).toMatchObject({ refuses: [], idempotent: false, body: null, reply: null });
    expect(made.params.safeParse({ id: ID, other_id: ID }).success).toBe(true);
    expect(made.params.safeParse({ id: ID, other_id: 'x' }).success).toBe(false);
    expect(made.params.safeParse({ id: ID }).success).toBe(false);
    expect(endpoint('GET /a', { ...text, reply: z.string() })).toMatchObject({ kind: 'value', status: 200 });
    expect(endpoint('GET /a', { ...text, reply: z.string(), kind: 'page', status: 202 })).toMatchObject({
      kind: 'page',
      status: 202,
    });
  });

  it.each([
    ['skill', 'Create a skill', 'create_skill', 'list_skills'],
    ['agent', 'Create an agent', 'create_agent', 'list_agents'],
    ['MCP server', 'Create an MCP server', 'create_mcp_server', 'list_mcp_servers'],
    ['custom tool', 'Create a custom tool', 'create_custom_tool', 'list_custom_tools'],
  ])('declare the five operations of a resource: %s', (noun, summary, operation, list) => {
    const made = crud({ path: '/api/x', noun, tag: 'X' }, { record: z.string(), create: z.string(), update: z.string() });
    expect(made.create).toMatchObject({ summary, operation, status: 201 });
    expect(made.list.operation).toBe(list);
  });

  it('declare what each of the five operations takes, answers and refuses', () => {
    const [record, create, update] = [z.object({ a: z.string() }), z.object({ b: z.string() }), z.object({ c: z.string() })];
    const made = crud({ path: '/api/x', noun: 'skill', tag: 'X' }, { record, create, update });
    const every = { tag: 'X', idempotent: false };
    const [reading, writing] = [
      { access: 'read', audited: false },
      { access: 'write', audited: true, shared: false },
    ];
    const one = { ...every, path: '/api/x/{id}', params: IdParams, query: made.get.query };
    const all = { ...every, path: '/api/x', params: made.list.params };
    expect(made).toEqual({
      noun: 'skill',
      list: {
        ...{ ...all, method: 'GET', operation: 'list_skills', summary: 'List skills, newest first', query: FilterQuery },
        ...{ body: null, reply: record, kind: 'page', status: 200, refuses: [], ...reading },
      },
      create: {
        ...{ ...all, method: 'POST', operation: 'create_skill', summary: 'Create a skill', query: made.create.query },
        ...{ stores: true, idempotent: true, body: create, reply: record, kind: 'value', status: 201, refuses: [409, 413] },
        ...{ params: made.create.params, ...writing },
      },
      get: {
        ...{ ...one, method: 'GET', operation: 'get_skill', summary: 'Get a skill' },
        ...{ body: null, reply: record, kind: 'value', status: 200, refuses: [], ...reading },
      },
      update: {
        ...{ ...one, method: 'PUT', operation: 'update_skill', summary: 'Change a skill', stores: true },
        description: 'A field left out is unchanged; a null clears a field that may be null.',
        ...{ body: update, reply: record, kind: 'value', status: 200, refuses: [409, 412, 413], ...writing },
      },
      remove: {
        ...{ ...one, method: 'DELETE', operation: 'delete_skill', summary: 'Delete a skill' },
        ...{ body: null, reply: null, kind: 'none', status: 204, refuses: [409, 412], ...writing },
      },
    });
    for (const { params } of [made.list, made.create]) expect(params.parse({ id: 'x' })).toEqual({});
    expect(made.create.query.parse({ more: 1 })).toEqual({});
    expect(made.get.query.parse({ more: 1 })).toEqual({});
  });

  it('declare that everybody may read the records, for what changes them', () => {
    const schemas = { record: z.any(), create: z.any(), update: z.any() };
    const { create, update, remove, get, list } = crud({ path: '/api/x', noun: 'skill', tag: 'X', shared: true }, schemas);
    expect([create, update, remove, get, list].map(({ shared }) => shared)).toEqual([true, true, true, undefined, undefined]);
  });

  it('list a resource by its own filters, if it has any', () => {
    const query = z.object({ kind: z.string() });
    const schemas = { record: z.any(), create: z.any(), update: z.any(), query };
    expect(crud({ path: '/api/x', noun: 'skill', tag: 'X' }, schemas).list.query).toBe(query);
  });

  it('name several of a resource by their own plural', () => {
    const made = crud(
      { path: '/api/x', noun: 'memory', plural: 'memories', tag: 'X' },
      { record: z.any(), create: z.any(), update: z.any() },
    );
    expect([made.list.operation, made.list.summary]).toEqual(['list_memories', 'List memories, newest first']);
  });
});
