import { describe, expect, it } from 'vitest';
import { isWithinLevels } from '../../src/contracts/output-schema.ts';
import { getDialect } from '../../src/domain/dialect.ts';
import { findOutputSchemaError, listOutputErrors } from '../../src/parsers/child/output.ts';
import { chatRequest } from '../../src/runtimes/chat-request.ts';
import { exchangeOf } from '../runtimes/support.ts';

const SUM = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'], additionalProperties: false };
const faults = (text: string, schema: Record<string, unknown> = SUM) => listOutputErrors({ schema, text });

describe('an answer', () => {
  it.each<[string, string[], Record<string, unknown>?]>([
    ['{"sum": 1}', []],
    ['It is 1.', ['it is not one JSON value']],
    ['{"sum": 1} {"sum": 2}', ['it is not one JSON value']],
    ['{"sum": "1"}', ['/sum must be integer']],
    ['{}', ["the answer must have required property 'sum'"]],
    ['{"sum": 1, "more": 2}', ['the answer must NOT have additional properties (`more`)']],
    ['"c"', ['the answer must be equal to one of the allowed values: ["a","b"]'], { enum: ['a', 'b'] }],
    ['["b"]', [], { items: { anyOf: [{ pattern: '^a$' }, { pattern: '^b$' }] } }],
    ['"xy"', ['the answer must match pattern "^a+$"'], { pattern: '^a+$' }],
    ['[1, "2"]', ['/1 must be integer'], { $ref: '#/$defs/all', $defs: { all: { items: { type: 'integer' } } } }],
    ['{"a": 1}', [], { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://example.com/x', type: 'object' }],
  ])('%s has the faults %j', (text, expected, schema) => expect(faults(text, schema)).toEqual(expected));

  it('is described by its first faults only, each of them short', () => {
    const found = faults(JSON.stringify(Array.from({ length: 9 }, () => 'x'.repeat(9))), { items: { type: 'integer' } });
    expect(found).toHaveLength(6);
    expect(found.at(-1)).toBe('and 4 more');
    expect(faults(`{"sum": 1, "${'m'.repeat(999)}": 1}`)[0]).toHaveLength(201);
  });
});

describe('an output schema', () => {
  it.each<[Record<string, unknown>, RegExp | null]>([
    [SUM, null],
    [{}, null],
    [{ type: 'objet' }, /^Not a JSON Schema of draft 2020-12: schema is invalid/],
    [{ properties: 1 }, /schema is invalid/],
    [{ $ref: 'https://example.com/other.json' }, /can't resolve reference/],
    [{ pattern: '(?=a)' }, /Not a pattern in RE2 syntax/],
    [{ $async: true, type: 'object' }, /`\$async` is not supported/],
  ])('%j', (schema, expected) => {
    const fault = findOutputSchemaError(schema);
    if (expected) expect(fault).toMatch(expected);
    else expect(fault).toBeNull();
  });

  it('has levels', () => {
    expect([isWithinLevels(1, 0), isWithinLevels({}, 0), isWithinLevels({ a: [1] }, 2), isWithinLevels({ a: [[]] }, 2)]).toEqual([
      ...[true, false, true, false],
    ]);
  });

  it.each<[string, object, unknown]>([
    ['an object', { output_schema: SUM }, { type: 'json_schema', json_schema: { name: 'answer', schema: SUM } }],
    ['any object', { output_schema: { type: 'object' } }, { type: 'json_object' }],
    ['a list', { output_schema: { type: 'array' } }, undefined],
    [
      'an object, with tools',
      { output_schema: SUM, tools: [{ name: 't', description: '', parameters: {}, effect: 'read' }] },
      undefined,
    ],
  ])('of %s is given to the endpoint as it can take it', (_, values, expected) => {
    expect(
      (chatRequest(exchangeOf(values), 'm', getDialect(null, 'm')) as { response_format?: unknown }).response_format,
    ).toEqual(expected);
  });
});
