import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../src/domain/arguments.ts';
import { findMeantTool } from '../../src/domain/tool-names.ts';
import { fitArguments } from '../../src/parsers/child/arguments.ts';

describe('arguments as a whole', () => {
  const city = { city: 'Oslo' };
  it.each([
    ['', {}],
    ['  ', {}],
    ['null', {}],
    ['""', {}],
    ['[]', {}],
    ['None', {}],
    ['{}', {}],
    ['{"city": "Oslo"}', city],
    ['[{"city": "Oslo"}]', city],
    [JSON.stringify('{"city": "Oslo"}'), city],
    [JSON.stringify(JSON.stringify('{"city": "Oslo"}')), city],
    [JSON.stringify('null'), {}],
    [JSON.stringify(''), {}],
    ['```json\n{"city": "Oslo"}\n```', city],
    ['```\n{"city": "Oslo"}```', city],
    ['```JSON5\n{"city": "Oslo"}\n```', city],
    ['~~~json\n{"city": "Oslo"}\n~~~', city],
    ['\ufeff{"city": "Oslo"}', city],
  ])('%j are read', (text, args) => {
    expect(parseArguments(text)).toEqual({ arguments: args });
  });

  it.each([
    '5',
    'true',
    '"Oslo"',
    '[1]',
    '[{}, {}]',
    '{"a": 1',
    '{"a": 1, "a": 2}',
    JSON.stringify('{"a": 1, "a": 2}'),
    'Use {"a": 1}',
    '{"a": 1} so',
  ])('%s are refused, because their meaning is not certain', (text) => {
    expect(parseArguments(text)).toEqual({ refusal: expect.any(String) });
  });

  it('keep long integers exact, also in text', () => {
    const read = parseArguments(JSON.stringify('{"id": 12345678901234567890}'));
    expect(JSON.stringify(read)).toBe('{"arguments":{"id":12345678901234567890}}');
  });
});

const SCHEMA = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    color: { type: 'string', enum: ['red', 'blue'] },
    list: { type: 'array', items: { type: 'integer' } },
    dict: { type: 'object', properties: { on: { type: 'boolean' }, tags: { type: 'array', items: { type: 'string' } } } },
    flag: { type: 'boolean' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    maybe: { type: ['integer', 'null'] },
    either: { anyOf: [{ type: 'array', items: { type: 'boolean' } }, { type: 'null' }] },
    mixed: { type: ['string', 'array'] },
    any: {},
    shared: { $ref: '#/$defs/Shared' },
    people: { type: 'array', items: { $ref: '#/$defs/Shared' } },
    many: { type: 'object', additionalProperties: { type: 'integer' } },
  },
  $defs: { Shared: { type: 'object', properties: { age: { type: 'integer' } } } },
};
const converted = (args: Record<string, unknown>, schema: Record<string, unknown> = SCHEMA) => fitArguments({ schema, args });

describe('a value', () => {
  it.each([
    [{ list: '[1, 2]' }, { list: [1, 2] }],
    [{ list: JSON.stringify('[1]') }, { list: [1] }],
    [{ list: ['1', ' 2 '] }, { list: [1, 2] }],
    [{ dict: '{"on": "True", "tags": "[\\"a\\"]"}' }, { dict: { on: true, tags: ['a'] } }],
    [{ shared: '{"age": "7"}' }, { shared: { age: 7 } }],
    [{ people: ['{"age": 7}'] }, { people: [{ age: 7 }] }],
    [{ many: { a: '5' } }, { many: { a: 5 } }],
    [{ flag: 'True' }, { flag: true }],
    [{ flag: 'FALSE' }, { flag: false }],
    [{ flag: '1' }, { flag: true }],
    [{ flag: '0' }, { flag: false }],
    [{ flag: ' true ' }, { flag: true }],
    [{ flag: '"true"' }, { flag: true }],
    [{ flag: 1 }, { flag: true }],
    [{ count: ' 5 ' }, { count: 5 }],
    [{ count: '"5"' }, { count: 5 }],
    [{ count: '5.0' }, { count: 5 }],
    [{ ratio: '1e3' }, { ratio: 1_000 }],
    [{ maybe: 'null' }, { maybe: null }],
    [{ maybe: 'None' }, { maybe: null }],
    [{ maybe: '5' }, { maybe: 5 }],
    [{ either: '[true, "False"]' }, { either: [true, false] }],
    [{ either: 'null' }, { either: null }],
    [{ count: '' }, {}],
    [{ count: 'null' }, {}],
    [{ list: 'None' }, {}],
    [{ color: ' red ' }, { color: 'red' }],
    [{ color: '"blue"' }, { color: 'blue' }],
    [{ ' count': 5 }, { count: 5 }],
    [{ '"count"': 5 }, { count: 5 }],
  ])('%j means %j', (sent, meant) => {
    expect(converted(sent)).toEqual({ arguments: meant });
  });

  it.each(['{"on": true, "on": false}', JSON.stringify('{"on": true, "on": false}')])(
    'is not read from %s: a person would see one value and the tool would get the other',
    (dict) => {
      expect(converted({ dict })).toEqual({ faults: ['`dict` must be object'] });
    },
  );

  it('under two odd spellings of one name is not lost', () => {
    expect(converted({ ' count': 5, '"count"': 6 }, { ...SCHEMA, additionalProperties: true })).toEqual({
      arguments: { count: 5, '"count"': 6 },
    });
  });

  it.each([
    { text: ' [1] ' },
    { text: 'null' },
    { text: '"quoted"' },
    { text: 'True' },
    { mixed: '[1]' },
    { any: '{"a": 1}' },
    { any: 'null' },
    { more: '[1]' },
  ])('%j stays as it is, because it may mean what it says', (sent) => {
    expect(converted(structuredClone(sent))).toEqual({ arguments: sent });
  });

  it.each([
    { list: 'a, b' },
    { list: '{"a": 1}' },
    { dict: '[1]' },
    { flag: 'maybe' },
    { flag: '2' },
    { count: 'five' },
    { count: '5 apples' },
    { list: '[12345678901234567890]' },
  ])('%j is refused by name', (sent) => {
    expect(converted(sent)).toEqual({ faults: [expect.stringContaining(Object.keys(sent)[0]!)] });
  });

  it('of a required argument is not left out', () => {
    expect(converted({ count: '' }, { ...SCHEMA, required: ['count'] })).toEqual({ faults: ['`count` must be integer'] });
  });

  it('cannot change the prototype, nor follow a schema that refers to itself indefinitely', () => {
    const sent = JSON.parse('{"__proto__": {"polluted": true}, "count": "5"}');
    const fitted = converted(sent) as { arguments: Record<string, unknown> };
    expect(Object.getPrototypeOf(fitted.arguments)).toBe(Object.prototype);
    const loop = { type: 'object', properties: { a: { $ref: '#/properties/a' }, b: { $ref: '#' } } };
    expect(converted({ b: { b: { b: '{"b": {}}' } } }, loop)).toHaveProperty('arguments');
  });
});

const schemaOf = (value: object, more: object = {}) => ({ type: 'object', properties: { value }, ...more });
const nest = (schema: object, levels: number): object => (levels === 0 ? schema : { anyOf: [nest(schema, levels - 1)] });
const ANCHORED = { $ref: '#args', $defs: { Args: { $anchor: 'args', ...schemaOf({ type: 'boolean' }) } } };
/** The id of a text, which as a path would lead to a boolean. */
const WITH_ID = {
  properties: { value: { $ref: '/properties/flag' }, flag: { type: 'boolean' } },
  $defs: { Text: { $id: '/properties/flag', type: 'string' } },
};

describe('a schema', () => {
  it.each<[string, Record<string, unknown>, object, unknown]>([
    [
      'of a tuple',
      schemaOf({ type: 'array', prefixItems: [{ type: 'integer' }, { type: 'boolean' }] }),
      { value: ['1', 'True'] },
      [1, true],
    ],
    ['of a digit or a boolean', schemaOf({ type: ['boolean', 'integer'] }), { value: '1' }, 1],
    ['of a boolean or a digit', schemaOf({ type: ['integer', 'boolean'] }), { value: 'True' }, true],
    ['of one value', schemaOf({ const: 'red' }), { value: ' "red" ' }, 'red'],
    ['of any value or a list', schemaOf({ anyOf: [true, { type: 'array' }] }), { value: '[1]' }, '[1]'],
    ['of alternatives without a type', { anyOf: [schemaOf({ type: 'boolean' }), true] }, { value: '1' }, true],
    [
      'of an alternative that does not say its type',
      { anyOf: [{ properties: { value: { type: 'boolean' } } }] },
      { value: '1' },
      true,
    ],
    ['of a list in sixteen alternatives', schemaOf(nest({ type: 'array' }, 16)), { value: '[1]' }, [1]],
    ['with an anchor', ANCHORED, { value: 'true' }, true],
    ['with an id that looks like a path', WITH_ID, { value: 'True' }, 'True'],
    ['of any value', schemaOf({}), { value: null }, null],
    ['without parameters', { type: 'object' }, { value: null }, null],
    ['of an optional text', schemaOf({ type: 'string' }), { value: null }, undefined],
  ])('%s has its values', (_what, schema, sent, value) => {
    expect(converted({ ...sent }, schema)).toEqual({ arguments: value === undefined ? {} : { value } });
  });

  it.each<[string, Record<string, unknown>, object, string]>([
    [
      'a list with an item that means nothing',
      schemaOf({ type: 'array', items: { type: 'integer' } }),
      { value: ['1', 'none'] },
      '`value.1` must be integer',
    ],
    ['another choice', schemaOf({ enum: ['red', 'blue'] }), { value: '"purple"' }, '`value` must be one of ["red","blue"]'],
    ['a list within too many alternatives', schemaOf(nest({ type: 'array' }, 17)), { value: '[1]' }, '`value` must be array'],
    ['nothing', schemaOf({}, { required: ['value'] }), {}, '`value` is required'],
    ['a part of what is required', schemaOf({ type: 'object', required: ['id'] }), { value: {} }, '`value.id` is required'],
    [
      'null for what is required',
      schemaOf({ type: 'string' }, { required: ['value'] }),
      { value: null },
      '`value` must not be null',
    ],
    ['another name', schemaOf({}, { additionalProperties: false }), { other: 1 }, '`other` is not a parameter of this tool'],
    ['too little', schemaOf({}, { minProperties: 1 }), {}, '`arguments` must NOT have fewer than 1 properties'],
  ])('refuses %s by name', (_what, schema, sent, fault) => {
    expect(converted({ ...sent }, schema)).toMatchObject({ faults: expect.arrayContaining([fault]) });
  });
});

describe('the name of a tool', () => {
  const tools = new Set(['look', 'functions.look2', 'look2', 'functions']);
  it.each([
    ['look', 'look'],
    [' look\n', 'look'],
    ['"look"', 'look'],
    ['`look`', 'look'],
    ['functions.look', 'look'],
    ['functions:look', 'look'],
    ['tools.look', 'look'],
    ['default_api.look', 'look'],
    ['" functions.look "', 'look'],
    ['functions.look2', 'functions.look2'],
    ['functions', 'functions'],
    ['functions.other', 'functions.other'],
    ['LOOK', 'LOOK'],
    ['lookup', 'lookup'],
    ['my.look', 'my.look'],
  ])('%j means %j', (written, meant) => {
    expect(findMeantTool(written, tools)).toBe(meant);
  });
});
