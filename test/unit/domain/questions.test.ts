import { expect, it } from 'vitest';
import { findChoices, findQuestionError, listAnswerErrors, type QuestionField } from '../../../src/domain/questions.ts';

const faultOf = (field: QuestionField, value: unknown) =>
  listAnswerErrors({ properties: { it: field } }, { it: value })[0]?.message ?? null;

it.each<[QuestionField, unknown, string | null]>([
  [{ type: 'boolean' }, false, null],
  [{ type: 'boolean' }, 'false', 'Must be true or false'],
  [{ type: 'number', minimum: 0, maximum: 1 }, 0.5, null],
  [{ type: 'number', minimum: 0 }, -1, 'Must be at least 0'],
  [{ type: 'number', maximum: 1 }, 2, 'Must be at most 1'],
  [{ type: 'number' }, '1', 'Must be a number'],
  [{ type: 'integer' }, 1.5, 'Must be a whole number'],
  [{ type: 'string', minLength: 2 }, 'é', 'Must have at least 2 characters'],
  [{ type: 'string', maxLength: 2 }, '👍👍', null],
  [{ type: 'string', maxLength: 2 }, 'abc', 'Must have at most 2 characters'],
  [{ type: 'string' }, 'x'.repeat(16_385), 'Must have at most 16384 characters'],
  [{ type: 'string' }, 7, 'Must be text'],
  [{ type: 'string', format: 'email' }, 'ada@example.com', null],
  [{ type: 'string', format: 'email' }, 'ada', 'Must be an email address'],
  [{ type: 'string', format: 'uri' }, 'https://example.com/a', null],
  [{ type: 'string', format: 'uri' }, '/a', 'Must be an absolute URI'],
  [{ type: 'string', format: 'date' }, '2028-02-29', null],
  [{ type: 'string', format: 'date' }, '2026-02-29', 'Must be a date such as 2026-11-24'],
  [{ type: 'string', format: 'date-time' }, '2026-11-24T09:30:00.5+01:00', null],
  [{ type: 'string', format: 'date-time' }, '2026-11-24T09:30', 'Must be a time such as 2026-11-24T09:30:00Z'],
  [{ type: 'string', format: 'date-time' }, '2026-11-24T25:30:00Z', 'Must be a time such as 2026-11-24T09:30:00Z'],
  [{ type: 'string', enum: ['a', 'b'] }, 'a', null],
  [{ type: 'string', enum: ['a', 'b'] }, 'c', 'Must be among a, b'],
  [{ type: 'string', oneOf: [{ const: 'a', title: 'A' }] }, 'A', 'Must be among a'],
  [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 1 }, ['b'], null],
  [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 1 }, [], 'Choose at least 1'],
  [{ type: 'array', items: { enum: ['a', 'b'] }, maxItems: 1 }, ['a', 'b'], 'Choose at most 1'],
  [{ type: 'array', items: { enum: ['a', 'b'] } }, ['a', 'a'], 'Must be among a, b'],
  [{ type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } }, 'a', 'Must be a list'],
])('a field %j with the value %j: %s', (field, value, fault) => {
  expect(faultOf(field, value)).toBe(fault);
});

it('an answer lacks no required field, and has no other than those of the question', () => {
  const schema = { properties: { name: { type: 'string' as const } }, required: ['name'] };
  expect(listAnswerErrors(schema, { toString: 'x' })).toEqual([
    { path: 'name', message: 'This field is required' },
    { path: 'toString', message: 'The question has no such field' },
  ]);
});

it('the choices of a field have the titles that the server gave them', () => {
  expect(findChoices({ type: 'string', enum: ['a', 'b'], enumNames: ['A'] })).toEqual([
    { value: 'a', label: 'A' },
    { value: 'b', label: 'b' },
  ]);
  expect(findChoices({ type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } })).toEqual([{ value: 'a', label: 'A' }]);
  expect(findChoices({ type: 'string' })).toBeNull();
});

it('a question beyond a limit is not put to anyone', () => {
  const many = Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`f${index}`, { type: 'boolean' as const }]));
  const question = (values: object) => findQuestionError({ message: 'Well?', schema: { properties: {} }, ...values });
  expect(question({})).toBeNull();
  expect(question({ message: 'x'.repeat(4_001) })).toMatch(/4000 characters/);
  expect(question({ schema: { properties: many } })).toMatch(/more than 30 fields/);
  expect(question({ schema: { properties: { ['x'.repeat(101)]: { type: 'boolean' } } } })).toMatch(/name of a field/);
  expect(question({ schema: { properties: { a: { type: 'string', description: 'x'.repeat(33_000) } } } })).toMatch(/schema/);
  expect(question({ schema: { properties: {}, required: ['a'] } })).toMatch(/requires "a"/);
});

/** For each bound of a field: the last value within it, and the first one beyond it. */
const BOUNDS: [bound: string, field: QuestionField, within: unknown, beyond: unknown][] = [
  ['minimum', { type: 'number', minimum: 3 }, 3, 2.999],
  ['maximum', { type: 'number', maximum: 7 }, 7, 7.001],
  ['minimum of whole numbers', { type: 'integer', minimum: 3 }, 3, 2],
  ['maximum of whole numbers', { type: 'integer', maximum: 7 }, 7, 8],
  ['minLength', { type: 'string', minLength: 3 }, 'abc', 'ab'],
  ['maxLength', { type: 'string', maxLength: 3 }, 'abc', 'abcd'],
  ['the longest text', { type: 'string' }, 'x'.repeat(16_384), 'x'.repeat(16_385)],
  ['the longest text, whatever a server allows', { type: 'string', maxLength: 20_000 }, 'x'.repeat(16_384), 'x'.repeat(16_385)],
  ['minItems', { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 2 }, ['a', 'b'], ['a']],
  ['maxItems', { type: 'array', items: { enum: ['a', 'b', 'c'] }, maxItems: 2 }, ['a', 'b'], ['a', 'b', 'c']],
];

it.each(BOUNDS)('%s belongs to the values that are taken', (_, field, within, beyond) => {
  expect(faultOf(field, within)).toBeNull();
  expect(faultOf(field, beyond)).not.toBeNull();
});

it('a question at a limit is put to a person', () => {
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, { type: 'boolean' as const }]));
  const findError = (values: object) => findQuestionError({ message: 'Well?', schema: { properties: {} }, ...values });
  const described = (length: number) => ({ properties: { a: { type: 'string' as const, description: 'x'.repeat(length) } } });
  const frame = JSON.stringify(described(0)).length;
  expect([
    findError({ message: 'x'.repeat(4_000) }),
    findError({ schema: { properties: fields(30) } }),
    findError({ schema: { properties: { ['x'.repeat(100)]: { type: 'boolean' } } } }),
    findError({ schema: described(32 * 1_024 - frame) }),
  ]).toEqual([null, null, null, null]);
  expect(findError({ schema: described(32 * 1_024 - frame + 1) })).toMatch(/schema has more/);
});
