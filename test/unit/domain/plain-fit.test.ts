import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../src/domain/exact-json.ts';
import { fitsPlainly } from '../../../src/domain/plain-fit.ts';
import { fitArguments } from '../../../src/parsers/room/arguments.ts';
import { builtinSpecs } from '../../../src/tools/builtin/index.ts';

const names = fc.constantFrom('a', 'b', 'c');
const scalars = fc.oneof(
  fc.constantFrom('', 'x', '1', 'true'),
  fc.integer(),
  fc.constantFrom(0.5, -1e300),
  fc.boolean(),
  fc.constant(null),
);
const flat = fc.oneof(scalars, fc.array(scalars, { maxLength: 3 }), fc.dictionary(names, scalars, { maxKeys: 2 }));
const values = fc.oneof(flat, fc.array(flat, { maxLength: 3 }), fc.dictionary(names, flat, { maxKeys: 3 }));

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;

/** What makes a schema odd, each at some places only. */
const TWISTS: ((schema: Record<string, unknown>, value: unknown) => Record<string, unknown>)[] = [
  ({ type: _, ...schema }) => schema,
  (schema) => ({ ...schema, type: ['string', 'null'] }),
  (schema) => ({ ...schema, type: 'number' }),
  (schema, value) => ({ ...schema, enum: [value, 'x', 1] }),
  (schema) => ({ ...schema, minLength: 1 }),
  (schema) => ({ ...schema, required: ['a'] }),
  (schema) => ({ ...schema, additionalProperties: false, properties: { b: {} } }),
  (schema) => ({ ...schema, additionalProperties: { type: 'string' } }),
  (schema) => ({ ...schema, title: 'A title', default: 'x', format: 'date' }),
];

/** A schema that describes a value, and differs from it at the places that `odd` chooses. */
function schemaOf(value: unknown, odd: () => number): Record<string, unknown> {
  const schema: Record<string, unknown> = { type: typeOf(value) };
  if (Array.isArray(value)) schema.items = value.length > 0 ? schemaOf(value[0], odd) : {};
  else if (typeof value === 'object' && value !== null)
    schema.properties = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, schemaOf(part, odd)]));
  return TWISTS[odd()]?.(schema, value) ?? schema;
}

interface Described {
  type: string;
  enum?: unknown[];
  items?: object;
  properties?: object;
}

describe('Arguments that plainly fit', () => {
  it('are left as they are by the validator', () => {
    const seen = { fitting: 0, others: 0 };
    const oddities = fc.array(fc.nat(TWISTS.length * 4), { minLength: 30, maxLength: 30 });
    fc.assert(
      fc.property(fc.dictionary(names, values, { maxKeys: 3 }), oddities, (args, [...left]) => {
        const schema = schemaOf(args, () => left.pop() ?? TWISTS.length);
        if (!fitsPlainly(schema, args)) {
          seen.others += 1;
          return;
        }
        seen.fitting += 1;
        expect(fitArguments({ schema, args: structuredClone(args) })).toEqual({ arguments: args });
      }),
      { numRuns: 400 },
    );
    expect(seen.fitting).toBeGreaterThan(50);
    expect(seen.others).toBeGreaterThan(50);
  });

  it('are those of every built-in tool, if they have what it requires', () => {
    for (const { name, parameters } of builtinSpecs()) {
      const { properties, required = [] } = parameters as { properties: Record<string, object>; required?: string[] };
      const sample = (schema: unknown): unknown => {
        const { type, enum: options, items, properties: parts = {} } = schema as Described;
        if (options) return options[0];
        if (type === 'array') return [sample(items)];
        if (type === 'object') return Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, sample(part)]));
        return { string: 'x', integer: 1, number: 1, boolean: true }[type];
      };
      const args = Object.fromEntries(required.map((key) => [key, sample(properties[key])]));
      expect({ name, fits: fitsPlainly(parameters, args) }).toEqual({ name, fits: true });
    }
  });

  const schema = {
    type: 'object',
    additionalProperties: false,
    required: ['path'],
    properties: { path: { type: 'string' }, lines: { type: 'array', items: { type: 'integer' } }, mode: { enum: ['r', 'w'] } },
  };

  it.each([{ path: 'a' }, { path: 'a', lines: [1, 2] }, { path: 'a', mode: 'w' }])('are recognised: %j', (args) => {
    expect(fitsPlainly(schema, args)).toBe(true);
  });

  it.each([
    {},
    { path: 1 },
    { path: null },
    { path: 'a', other: 1 },
    { path: 'a', lines: ['1'] },
    { path: 'a', lines: [1.5] },
    { path: 'a', mode: 'x' },
    { path: 'a', lines: Array(1_001).fill(1) },
    parseExact('{"path": "a", "lines": [1234567890123456789]}'),
  ])('are left to the validator if they may not fit, or are many: %#', (args) => {
    expect(fitsPlainly(schema, args)).toBe(false);
  });

  it.each([
    { additionalProperties: false, properties: null },
    { type: 'object', patternProperties: {} },
    { anyOf: [{}] },
    { pattern: '(a+)+$' },
    { type: 'thing' },
    true,
    null,
  ])('are left to the validator if the schema has more than plain keywords: %j', (unknown) => {
    for (const args of [{}, { a: 1 }]) expect(fitsPlainly(unknown, args)).toBe(false);
  });
});
