import { expect, it } from 'vitest';
import { extractPieces, fill, type Schema } from '../../src/embedded/demo-arguments.ts';

it.each<[Schema, string, unknown]>([
  [{ $ref: '#/$defs/city', $defs: { town: { const: 3 }, city: { enum: ['Oslo', 'Bergen'] } } }, '', 'Oslo'],
  [{ $ref: '#/$defs/city', $defs: { town: { const: 3 } } }, '', null],
  [{ $ref: '#/$defs/city' }, '', null],
  [{ type: 'integer', const: 7 }, '11', 7],
  [{ type: 'null' }, '', null],
  [{ type: 'null', default: 'none' }, '', 'none'],
  [{ type: 'integer' }, '2.5', 2],
  [{ type: 'array', items: { type: 'integer' } }, '2, 3 and 5', [2, 3, 5]],
  [{ type: 'array', items: { anyOf: [{ type: 'null' }, { type: 'number' }] } }, '7', [7]],
  [{ type: 'array', items: { properties: { n: { type: 'integer', minimum: 11 } }, required: ['n'] } }, '', [{ n: 11 }]],
  [{ type: 'array', items: { $ref: '#/$defs/n' }, $defs: { n: { const: 13 } } }, '', [13]],
  [{ type: 'array', items: { type: 'string' }, default: ['preset'] }, '', ['preset']],
  [{ type: 'object', properties: { unit: { enum: ['m'] }, exact: { const: 1 }, q: { type: 'string' } } }, '“x” 5', { q: 'x' }],
  [{ type: 'string', format: 'uri' }, 'See https://perdura.example/a now', 'https://perdura.example/a'],
  [{ type: 'string', format: 'url' }, 'See there', 'https://example.com'],
  [{ type: 'string', format: 'date-time' }, 'Now', '2025-01-01T00:00:00Z'],
  [{ type: 'string', format: 'date' }, 'Now', '2025-01-01'],
  [{ type: 'string', format: 'email' }, 'Now', 'someone@example.com'],
  [{ type: 'string', format: 'hostname' }, 'Now', 'Now'],
  [{ type: 'string', format: 'date' }, 'On `Monday`', 'Monday'],
])('fills %j from %j', (schema, prompt, value) => {
  expect(fill(schema, extractPieces(prompt))).toEqual(value);
});
