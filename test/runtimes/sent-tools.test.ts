import { describe, expect, it } from 'vitest';
import type { ToolSpec } from '../../src/domain/definition.ts';
import { getToolRules, type SchemaFamily } from '../../src/domain/tool-rules.ts';
import type { Exchange, ModelReply, ModelRuntime } from '../../src/runtimes/runtime.ts';
import { adaptTools, toSentNames } from '../../src/runtimes/sent-tools.ts';
import { toVendorSchema } from '../../src/runtimes/tool-schemas.ts';
import { anthropicTool, geminiTool, llamaTool, moonshotTool, openaiTool, type ToolRule } from '../support/peers/vendor-rules.ts';
import { exchangeOf, message } from './support.ts';

type Schema = Record<string, unknown>;
const one = (schema: unknown, more: Schema = {}): Schema => ({ type: 'object', properties: { x: schema }, ...more });
const condition = (rule: string): Schema =>
  JSON.parse(`{"type": "string", "if": ${rule}, "then": {"maxLength": 2}, "else": {"minLength": 3}}`);

/** Schemas that servers and people write, each of which some vendor refuses, with calls that they allow. */
const SCHEMAS: [string, Schema, Schema[]][] = [
  ['an object without properties', { type: 'object' }, [{}, { a: 1 }]],
  ['nothing', {}, [{}]],
  ['null in place of keywords', { type: 'object', properties: null, required: null, description: null }, [{}]],
  ['a list without items', one({ type: 'array' }), [{ x: [1, 'a'] }]],
  ['a list of anything', one({ type: 'array', items: true }), [{ x: [1] }]],
  ['a tuple of draft 7', one({ type: 'array', items: [{ type: 'string' }, { type: 'number' }] }), [{ x: ['a', 1] }]],
  ['a tuple', one({ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false }), [{ x: ['a', 1] }]],
  ['a list of lists', one({ type: 'array', items: { type: 'array' } }), [{ x: [[1]] }]],
  ['an object within without properties', one({ type: 'object' }), [{ x: { a: 1 } }]],
  ['a map', one({ type: 'object', additionalProperties: { type: 'string' } }), [{ x: { a: 'b' } }]],
  ['anything', one({}), [{ x: 1 }, { x: 'a' }]],
  ['true for a schema', one(true), [{ x: 1 }]],
  ['a text in place of properties', { type: 'object', properties: 'none' }, [{}, { a: 1 }]],
  ['no alternatives', one({ anyOf: [] }), [{ x: 1 }]],
  ['null alone', one({ type: 'null' }), [{ x: null }]],
  ['items without a type', one({ items: { type: 'string' } }), [{ x: ['a'] }]],
  ['look-ahead', one({ type: 'string', pattern: '^(?!\\.)(?!.*\\.\\.)[a-z]+@[a-z]+$' }), [{ x: 'a@b' }]],
  ['look-behind', one({ type: 'string', pattern: '(?<=a)b' }), [{ x: 'ab' }]],
  ['a reference within a pattern', one({ type: 'string', pattern: '^(a|b)\\1$' }), [{ x: 'aa' }]],
  ['a pattern without its ends', one({ type: 'string', pattern: '[0-9]+' }), [{ x: 'a1b' }]],
  ['a plain pattern', one({ type: 'string', pattern: '^[0-9]+$' }), [{ x: '1' }]],
  [
    'names by patterns that no vendor takes',
    one({ type: 'object', patternProperties: { '^(?!a)b': { type: 'string' } }, additionalProperties: false }),
    [{ x: { bc: 'd' } }],
  ],
  [
    'a condition on a pattern that a vendor leaves out',
    one(condition('{"pattern": "^(?=a)b"}')),
    [{ x: 'abc' }, { x: 'longer' }],
  ],
  ['a condition that every vendor reads', one(condition('{"maxLength": 3}')), [{ x: 'ab' }, { x: 'longer' }]],
  ['a pattern that is not to match', one({ type: 'string', not: { pattern: '^(?=a)b' } }), [{ x: 'c' }]],
  [
    'alternatives that only patterns tell apart',
    one({
      oneOf: [
        { type: 'string', pattern: '(?<=a)b' },
        { type: 'string', pattern: '(?<=b)c' },
      ],
    }),
    [{ x: 'ab' }],
  ],
  [
    'alternatives that may be null',
    one({ nullable: true, oneOf: [{ type: 'string' }, { type: 'number' }] }),
    [{ x: 'a' }, { x: null }],
  ],
  [
    'alternatives at the top',
    {
      anyOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] },
      ],
    },
    [{ a: 'x' }, { b: 1 }],
  ],
  [
    'alternatives at the top that differ in one property',
    {
      type: 'object',
      oneOf: [
        { properties: { kind: { const: 'a' }, x: { type: 'string' } }, required: ['kind'] },
        { properties: { kind: { const: 'b' }, x: { type: 'number' } }, required: ['kind'] },
        { properties: { kind: { const: 'c' } }, required: ['kind'] },
      ],
    },
    [{ kind: 'a', x: 'y' }, { kind: 'b', x: 1 }, { kind: 'c' }],
  ],
  [
    'an intersection at the top',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'number' } } },
      ],
    },
    [{ a: 'x', b: 1 }],
  ],
  [
    'a reference at the top',
    { $ref: '#/$defs/Args', $defs: { Args: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } } },
    [{ a: 'x' }],
  ],
  ['references', one({ $ref: '#/$defs/City' }, { $defs: { City: { type: 'string', enum: ['Oslo', 'Rome'] } } }), [{ x: 'Oslo' }]],
  [
    'a tree',
    one(
      { $ref: '#/$defs/Node' },
      { $defs: { Node: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/Node' } } } } } },
    ),
    [{ x: { kids: [{ kids: [] }] } }],
  ],
  ['a reference to the whole', one({ type: 'array', items: { $ref: '#' } }), [{ x: [{ x: [] }] }]],
  ['a reference to a name with other characters', one({ $ref: '#/$defs/a~1b' }, { $defs: { 'a/b': {} } }), [{ x: 'a' }]],
  ['a reference to a property', one({ type: 'string' }, { properties: { x: {}, y: { $ref: '#/properties/x' } } }), [{ y: 'a' }]],
  [
    'a circle of references',
    one({ $ref: '#/$defs/A' }, { $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } } }),
    [{ x: 1 }],
  ],
  ['a reference to a text', one({ $ref: '#/type' }), [{ x: 1 }]],
  ['a reference to nothing at the top', { $ref: '#/$defs/Gone' }, [{}, { a: 1 }]],
  ['a reference to nothing', one({ $ref: '#/$defs/Gone' }), [{ x: 1 }]],
  ['a reference to another document', one({ $ref: 'https://example.com/schema.json' }), [{ x: 1 }]],
  ['several types', one({ type: ['string', 'number'] }), [{ x: 'a' }, { x: 1 }]],
  ['a type or null', one({ type: ['string', 'null'], description: 'A city' }), [{ x: null }, { x: 'a' }]],
  [
    'a type or null as alternatives',
    one({ anyOf: [{ type: 'string' }, { type: 'null' }], default: null }),
    [{ x: null }, { x: 'a' }],
  ],
  [
    'alternatives next to a type',
    one({ type: 'string', anyOf: [{ format: 'date' }, { format: 'time' }] }),
    [{ x: '2020-01-01' }],
  ],
  ['numbers as values', one({ type: 'integer', enum: [1, 2, 3] }), [{ x: 1 }]],
  ['values without a type', one({ enum: ['a', 1, null] }), [{ x: 'a' }, { x: 1 }, { x: null }]],
  ['an empty value', one({ type: 'string', enum: ['', 'a'] }), [{ x: '' }]],
  ['no values', one({ type: 'string', enum: [] }), [{ x: 'a' }]],
  ['values that repeat', one({ type: 'string', enum: ['a', 'a', 'b'] }), [{ x: 'b' }]],
  ['a constant', one({ const: 'a' }), [{ x: 'a' }]],
  ['a constant number', one({ const: 7 }), [{ x: 7 }]],
  ['formats', one({ type: 'string', format: 'email' }), [{ x: 'a@b.c' }]],
  ['an open minimum of draft 4', one({ type: 'number', minimum: 5, exclusiveMinimum: true }), [{ x: 6 }]],
  ['a minimum of draft 4 that is not open', one({ type: 'number', minimum: 5, exclusiveMinimum: false }), [{ x: 5 }]],
  ['an open minimum', one({ type: 'number', exclusiveMinimum: 5 }), [{ x: 6 }]],
  ['required names that do not exist', one({ type: 'string' }, { required: ['x', 'y'] }), [{ x: 'a', y: 1 }]],
  [
    'notes',
    one(
      { type: 'string', $comment: 'c', 'x-order': 1, examples: ['a'] },
      { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'i' },
    ),
    [{ x: 'a' }],
  ],
  [
    'rules that are not known everywhere',
    one({ type: 'object', properties: { a: {} }, not: { required: ['b'] }, dependentRequired: { a: ['c'] } }),
    [{ x: { a: 1, c: 2 } }],
  ],
  [
    'a property named like a keyword',
    { type: 'object', properties: { pattern: { type: 'string' }, items: { type: 'array' }, required: { type: 'boolean' } } },
    [{ pattern: '(?=x)', items: [], required: true }],
  ],
];

const RULES: [string, SchemaFamily, ToolRule][] = [
  ['OpenAI', 'standard', openaiTool],
  ['Anthropic', 'standard', anthropicTool],
  ['Gemini', 'gemini', geminiTool],
  ['Moonshot', 'moonshot', moonshotTool],
  ['llama.cpp', 'local', llamaTool],
];

/** A judge that takes only what the schema itself says, without a library: enough for the schemas above. */
function allows(schema: any, value: any, root: any = schema): boolean {
  if (schema === true || schema === undefined) return true;
  if (schema.nullable && value === null) return true;
  if (typeof schema.$ref === 'string')
    return allows(
      schema.$ref
        .slice(2)
        .split('/')
        .reduce((at: any, name: string) => at[name], root),
      value,
      root,
    );
  const kind = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type: string) => type === kind || (type === 'integer' && Number.isInteger(value))))
    return false;
  if (schema.enum && !schema.enum.includes(value)) return false;
  if ('const' in schema && schema.const !== value) return false;
  if (schema.anyOf && !schema.anyOf.some((branch: any) => allows(branch, value, root))) return false;
  if (schema.oneOf && schema.oneOf.filter((branch: any) => allows(branch, value, root)).length !== 1) return false;
  if (schema.not && allows(schema.not, value, root)) return false;
  if (typeof value === 'string' && schema.pattern && !new RegExp(schema.pattern).test(value)) return false;
  if (typeof value === 'number' && !(value >= (schema.minimum ?? value) && value > (schema.exclusiveMinimum ?? value - 1)))
    return false;
  if (kind === 'array') {
    const places = schema.prefixItems ?? [];
    return value.every((item: any, at: number) => allows(places[at] ?? schema.items, item, root));
  }
  if (kind !== 'object') return true;
  const known = schema.properties ?? {};
  return (
    (schema.required ?? []).every((name: string) => name in value) &&
    Object.entries(value).every(([name, inner]) =>
      name in known ? allows(known[name], inner, root) : schema.additionalProperties !== false,
    )
  );
}

describe.each(RULES)('%s', (_, family, judge) => {
  it.each(SCHEMAS)('takes %s, and every call that it allows', (__, schema, calls) => {
    const before = JSON.stringify(schema);
    const sent = toVendorSchema(schema, family);
    expect(
      judge({ name: 'look', parameters: family === 'gemini' && !('properties' in sent) ? undefined : sent } as never),
      JSON.stringify(sent),
    ).toBeNull();
    for (const call of calls) expect(allows(sent, call), `${JSON.stringify(call)} by ${JSON.stringify(sent)}`).toBe(true);
    expect(JSON.stringify(schema)).toBe(before);
  });

  it('would refuse some of them as they are', () => {
    expect(SCHEMAS.some(([, parameters]) => judge({ name: 'look', parameters }) !== null)).toBe(true);
  });
});

it('references that multiply do not', () => {
  const levels = Array.from({ length: 40 }, (_, at): [string, Schema] => {
    const next = { $ref: `#/$defs/L${at + 1}` };
    return [`L${at}`, { type: 'object', properties: { a: next, b: next } }];
  });
  const $defs = Object.fromEntries([...levels, ['L40', { type: 'string' }]]);
  const sent = toVendorSchema(one({ $ref: '#/$defs/L0' }, { $defs }), 'gemini');
  expect(geminiTool({ name: 'look', parameters: sent })).toBeNull();
  expect(JSON.stringify(sent).length).toBeLessThan(1_000_000);
});

/** Schemas of 64,000 characters at most that would take minutes, or the whole stack, if they were read carelessly. */
const HOSTILE: [string, Schema][] = [
  ['an intersection with itself', one({ $ref: '#/$defs/A' }, { $defs: { A: { allOf: [{ $ref: '#/$defs/A' }] } } })],
  ['an intersection with itself at the top', { allOf: [{ $ref: '#' }], type: 'object' }],
  ['a reference to itself', one({ $ref: '#/$defs/A' }, { $defs: { A: { $ref: '#/$defs/A' } } })],
  [
    'intersections that multiply',
    one(
      { $ref: '#/$defs/A0' },
      {
        $defs: Object.fromEntries(
          Array.from({ length: 40 }, (_, at) => {
            const next = { $ref: `#/$defs/A${at + 1}` };
            return [`A${at}`, { allOf: [next, next], anyOf: [next, next] }];
          }),
        ),
      },
    ),
  ],
  [
    'a chain of references',
    one(
      { $ref: '#/$defs/A0' },
      {
        $defs: Object.fromEntries(
          Array.from({ length: 1_000 }, (_, at) => [`A${at}`, { properties: { x: { $ref: `#/$defs/A${at + 1}` } } }]),
        ),
      },
    ),
  ],
  ['many values', one({ enum: Array.from({ length: 12_000 }, (_, at) => at) })],
  [
    'many alternatives at the top',
    { type: 'object', anyOf: Array.from({ length: 2_000 }, (_, at) => ({ properties: { x: { const: at } } })) },
  ],
];

describe.each(RULES)('%s', (_, family, judge) => {
  it.each(HOSTILE)('takes %s', (__, schema) => {
    const sent = toVendorSchema(schema, family);
    expect(
      judge({ name: 'look', parameters: family === 'gemini' && !('properties' in sent) ? undefined : sent } as never),
    ).toBeNull();
    expect(JSON.stringify(sent).length).toBeLessThan(2_000_000);
  });

  it('takes properties that are named like members of objects, and keywords that nobody knows', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"array"},"toString":{}},"required":["__proto__"],"__proto__":{"items":{}},"hasOwnProperty":1}',
    );
    const sent = toVendorSchema(schema, family);
    expect(Object.keys(sent.properties as object).toSorted()).toEqual(['__proto__', 'constructor', 'toString']);
    expect(sent.required).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(sent)).toBe(Object.prototype);
  });
});

it('a value that refers to itself may be anything within', () => {
  const Json = { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/$defs/Json' } }] };
  const sent = toVendorSchema(one({ $ref: '#/$defs/Json' }, { $defs: { Json } }), 'gemini');
  expect(geminiTool({ name: 'look', parameters: sent })).toBeNull();
  for (const x of ['a', ['a', ['b']], []]) expect(allows(sent, { x }), JSON.stringify(x)).toBe(true);
});

it.each<[string, 'gemini' | 'moonshot', Schema, Schema]>([
  ['null', 'gemini', { type: 'null', description: 'Nothing' }, { type: 'string', nullable: true, description: 'Nothing' }],
  ['null', 'moonshot', { type: 'null', description: 'Nothing' }, { type: 'null', description: 'Nothing' }],
  ['alternatives of null', 'moonshot', { anyOf: [{ type: 'null' }], description: '' }, { type: 'null' }],
  ['a known format', 'gemini', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
  ['an unknown format', 'gemini', { type: 'string', format: 'email' }, { type: 'string' }],
  ['items alone', 'moonshot', { items: { type: 'string' } }, { type: 'array', items: { type: 'string' } }],
  ['a list as a value', 'moonshot', { const: [1] }, { type: 'array', description: 'One of: [1]' }],
  ['an object as a value', 'moonshot', { const: { a: 1 } }, { type: 'object', description: 'One of: {"a":1}', properties: {} }],
  [
    'values that it does not list',
    'gemini',
    { type: 'number', enum: [1, 2], description: 'How many' },
    { type: 'number', description: 'How many. One of: 1, 2' },
  ],
  [
    'alternatives of an object, with a description',
    'gemini',
    {
      type: 'object',
      properties: { a: { type: 'string' } },
      anyOf: [{ properties: { b: { type: 'number' } } }, { properties: { c: { type: 'boolean' } } }],
      description: 'One of two',
    },
    {
      anyOf: [
        { description: 'One of two', type: 'object', properties: { b: { type: 'number' }, a: { type: 'string' } } },
        { type: 'object', properties: { c: { type: 'boolean' }, a: { type: 'string' } } },
      ],
    },
  ],
])('%s becomes what %s has for it', (_, family, schema, x) => {
  expect(toVendorSchema(one(schema), family).properties).toEqual({ x });
});

it('a reference at the top keeps its own description', () => {
  const Args = { type: 'object', properties: { a: { type: 'string' } }, description: 'Any' };
  const sent = toVendorSchema({ $ref: '#/$defs/Args', description: 'These', $defs: { Args } }, 'standard');
  expect(sent).toMatchObject({ description: 'These', properties: { a: { type: 'string' } } });
});

it.each<[string, Schema, Schema]>([
  ['a text', { type: 'object', properties: 'none' }, {}],
  [
    'what a reference to nothing stands next to',
    { $ref: '#/$defs/Gone', properties: { a: { type: 'string' } } },
    { a: { type: 'string' } },
  ],
])('the properties of a schema may be %s', (_, schema, properties) => {
  expect(toVendorSchema(schema, 'standard').properties).toEqual(properties);
});

it('a schema that every vendor takes is sent as it is', () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string', description: 'Where', pattern: '^[A-Z]+$' }, days: { type: 'integer', minimum: 1 } },
    required: ['city'],
    additionalProperties: false,
  };
  for (const family of ['standard', 'local'] as const) expect(toVendorSchema(schema, family)).toEqual(schema);
});

const NAMES = ['look', '3d_model', 'größe', '_own', 'x'.repeat(80), `${'x'.repeat(80)}y`, 'tool_3d_model', 'a.b', 'a b', '-dash'];

describe('names of tools', () => {
  it.each<[string, Parameters<typeof getToolRules>[0], string, ToolRule]>([
    ['OpenAI', { provider_type: 'openai', base_url: null }, 'gpt-5', openaiTool],
    ['Anthropic', { provider_type: 'anthropic_messages', base_url: null }, 'claude', anthropicTool],
    [
      'Gemini behind a gateway',
      { provider_type: 'openai_compatible', base_url: 'https://openrouter.ai/api/v1' },
      'google/gemini-3',
      geminiTool,
    ],
    ['Moonshot', { provider_type: 'openai_compatible', base_url: 'https://api.moonshot.ai/v1' }, 'kimi-k2', moonshotTool],
  ])('%s takes them all, each under a different one', (_, provider, model, judge) => {
    const rules = getToolRules(provider, model);
    const names = toSentNames(NAMES, rules);
    const sent = [...names.values()];
    expect(new Set(sent).size).toBe(NAMES.length);
    for (const name of sent) {
      expect(judge({ name, parameters: { type: 'object', properties: { x: { type: 'string' } } } }), name).toBeNull();
      expect(name.length).toBeLessThanOrEqual(64);
    }
    expect(names.get('look')).toBe('look');
    expect([...toSentNames([...NAMES].reverse(), rules)].sort()).toEqual([...names].sort());
  });

  it('are mapped in the request, in its history and back in the reply', async () => {
    const asked: Exchange[] = [];
    const calls = ['tool_3d_model', 'functions.tool_3d_model', '3d_model', 'gone'].map((name, at) => ({
      id: `${at}`,
      name,
      arguments: '{}',
    }));
    const runtime: ModelRuntime = {
      async exchange(input) {
        asked.push(input);
        return { reply: { text: '', calls } as object as ModelReply, cursor: null };
      },
    };
    const rules = getToolRules(
      { provider_type: 'openai_compatible', base_url: 'https://generativelanguage.googleapis.com/v1beta/openai' },
      'gemini-2.5-flash',
    );
    const tool: ToolSpec = { name: '3d_model', description: '', parameters: { type: 'object' }, effect: 'read' };
    const past = message({
      role: 'assistant',
      kind: 'reply',
      tool_calls: [{ call_id: '1-1', name: '3d_model', arguments: '{}' }],
    });
    const { reply } = await adaptTools(runtime, () => rules).exchange(
      exchangeOf({ tools: [tool], transcript: [message({ content: 'Go.' }), past] }),
      () => {},
      new AbortController().signal,
    );
    expect(asked[0]?.tools.map(({ name }) => name)).toEqual(['tool_3d_model']);
    expect(asked[0]?.transcript[1]?.tool_calls?.[0]?.name).toBe('tool_3d_model');
    expect(reply.calls.map(({ name }) => name)).toEqual(['3d_model', '3d_model', '3d_model', 'gone']);
    expect(past.tool_calls?.[0]?.name).toBe('3d_model');
  });
});

describe('names of parameters', () => {
  const LONG = `${'settings__'.repeat(7)}x`;
  const own = ['filter[id]', '$top', 'größe', LONG, 'a.b', 'filter_id_', '__proto__'];
  const properties = Object.fromEntries(own.map((name) => [name, { type: 'string' }]));
  const tool: ToolSpec = {
    name: 'look',
    description: '',
    effect: 'read',
    parameters: { type: 'object', properties },
  };

  /** Arguments deeper than any that are read. */
  const nest = (name: string) => `{${JSON.stringify(name)}:${'['.repeat(200)}${']'.repeat(200)}}`;

  async function ask(
    provider: Parameters<typeof getToolRules>[0],
    model: string,
    toArguments: (names: string[]) => string[],
    required = [...own, 'gone'],
  ) {
    const sent: ToolSpec[] = [];
    const runtime: ModelRuntime = {
      async exchange({ tools }) {
        sent.push(...tools);
        const calls = toArguments(Object.keys(tools[0]!.parameters.properties as object)).map((args) => ({
          ...{ id: '1', name: 'look', arguments: args },
        }));
        return { reply: { text: '', calls } as object as ModelReply, cursor: null };
      },
    };
    const { signal } = new AbortController();
    const rules = getToolRules(provider, model);
    const { reply } = await adaptTools(runtime, () => rules).exchange(
      exchangeOf({ tools: [{ ...tool, parameters: { ...tool.parameters, required } }] }),
      () => {},
      signal,
    );
    return { sent: sent[0]!, args: reply.calls.map((call) => call.arguments) };
  }

  it.each<[string, Parameters<typeof getToolRules>[0], string]>([
    ['Anthropic', { provider_type: 'anthropic_messages', base_url: null }, 'claude-sonnet-5'],
    [
      'Claude behind a gateway',
      { provider_type: 'openai_compatible', base_url: 'https://openrouter.ai/api/v1' },
      'anthropic/claude-opus-4.5',
    ],
    ['Claude at Bedrock', { provider_type: 'openai_compatible', base_url: 'http://litellm.test/v1' }, 'us.anthropic.claude-v4'],
  ])('%s takes them all, and calls have the own ones', async (_, provider, model) => {
    const value = '12345678901234567890';
    const { sent, args } = await ask(provider, model, (names) => [
      `{${names.map((name) => `${JSON.stringify(name)}:${value}`).join(',')}}`,
      '{"$top":1,"a.b":2}',
      '{"$top":1,"$top":2}',
      '{"cut',
      '',
      `{${JSON.stringify(names[1])}:1,"$top":2}`,
      nest(names[1]!),
    ]);
    expect(anthropicTool(sent)).toBeNull();
    const sent_names = Object.keys(sent.parameters.properties as object);
    expect(sent.parameters.required).toEqual([...sent_names, 'gone']);
    expect(args).toEqual([
      `{${own.map((name) => `${JSON.stringify(name)}:${value}`).join(',')}}`,
      ...[
        '{"$top":1,"a.b":2}',
        '{"$top":1,"$top":2}',
        '{"cut',
        '',
        `{${JSON.stringify(sent_names[1])}:1,"$top":2}`,
        nest(sent_names[1]!),
      ],
    ]);
  });

  it('may all be left out', async () => {
    const { sent } = await ask({ provider_type: 'anthropic_messages', base_url: null }, 'claude-sonnet-5', () => [], []);
    expect('required' in sent.parameters).toBe(false);
  });

  it('stay as they are elsewhere', async () => {
    const { sent } = await ask({ provider_type: 'openai', base_url: null }, 'gpt-5', () => []);
    expect(Object.keys(sent.parameters.properties as object)).toEqual(own);
  });
});

it('parameters are found in combinations within each other', () => {
  const schema = JSON.parse(`{
    "allOf": [
      {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"$ref": "#/$defs/B"}]},
      {"if": {"required": ["a"]}, "then": {"properties": {"c": {}}, "required": ["c"]}, "else": {"properties": {"e": {}}}}
    ],
    "$defs": {"B": {"allOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}]}}
  }`);
  for (const family of ['standard', 'local', 'gemini', 'moonshot'] as const) {
    const sent = toVendorSchema(schema, family);
    expect(Object.keys(sent.properties as object).toSorted(), family).toEqual(['a', 'b', 'c', 'e']);
    expect(sent.required, family).toEqual(['a', 'b']);
  }
});

it.each([
  ['https://api.openai.com/v1', 'gpt-5', 'any'],
  ['https://openrouter.ai/api/v1', 'openai/gpt-5', 'no_digit_first'],
  ['http://litellm.local/v1', 'openai/gpt-5', 'no_digit_first'],
])("OpenAI's limit of descriptions counts at %s", (base_url, model, names) => {
  const rules = getToolRules({ provider_type: 'openai_compatible', base_url }, model);
  expect(rules).toMatchObject({ family: 'standard', most_description: 1_024, names });
  const open = getToolRules({ provider_type: 'openai_compatible', base_url: 'http://vllm.local/v1' }, 'openai/gpt-oss-120b');
  expect(open).toMatchObject({ family: 'local', most_description: null });
});

it.each([1_024, 1_025])('a description of %i characters is sent to OpenAI as far as it goes', async (length) => {
  const sent: ToolSpec[] = [];
  const runtime: ModelRuntime = {
    async exchange({ tools }) {
      sent.push(...tools);
      return { reply: { text: '', calls: [] } as object as ModelReply, cursor: null };
    },
  };
  const rules = getToolRules({ provider_type: 'openai', base_url: null }, 'gpt-5');
  const tools: ToolSpec[] = [{ name: 'look', description: '🌍'.repeat(length), parameters: { type: 'object' }, effect: 'read' }];
  await adaptTools(runtime, () => rules).exchange(exchangeOf({ tools }), () => {}, new AbortController().signal);
  expect(sent[0]?.description).toBe(length > 1_024 ? `${'🌍'.repeat(1_023)}…` : '🌍'.repeat(length));
});
