import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import '../../../src/contracts/words.ts';

const refusal = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues.map(({ message }) => message);

const ID = 'an id, such as 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

describe('the sentence for a value that is refused', () => {
  it.each<[string, z.ZodType, unknown, string]>([
    ['a missing text', z.string(), undefined, 'It is required'],
    ['null for a text', z.string(), null, 'It must be text, not null'],
    ['a number for a text', z.string(), 1, 'It must be text'],
    ['a text for a number', z.number(), 'x', 'It must be a number'],
    ['no number', z.number(), Number.NaN, 'It must be a number'],
    ['a fraction for a whole number', z.int(), 1.5, 'It must be a whole number'],
    ['a text for a boolean', z.boolean(), 'yes', 'It must be true or false'],
    ['an object for an array', z.array(z.string()), {}, 'It must be an array'],
    ['an array for an object', z.object({}), [], 'It must be an object'],
    ['an array for a record', z.record(z.string(), z.string()), [], 'It must be an object'],
    ['a text for null', z.null(), 'x', 'It must be null'],
    ['a text for nothing', z.nan(), 'x', 'It must be a number'],
    ['a text for a date', z.date(), 'x', 'It must be date'],
    ['an empty text', z.string().min(1), '', 'It must not be empty'],
    ['a short text', z.string().min(3), 'ab', 'It must have at least 3 characters'],
    ['a long text', z.string().max(3), 'abcd', 'It must have at most 3 characters'],
    ['an empty array', z.array(z.any()).min(1), [], 'It must not be empty'],
    ['a short array', z.array(z.any()).min(2), [1], 'It must have at least 2 entries'],
    ['a long array', z.array(z.any()).max(1), [1, 2], 'It must have at most 1 entries'],
    ['a large set', z.set(z.any()).max(1), new Set([1, 2]), 'It must have at most 1 entries'],
    ['a small set', z.set(z.any()).min(2), new Set([1]), 'It must have at least 2 entries'],
    ['a small number', z.number().min(1), 0, 'It must be at least 1'],
    ['zero where more is asked', z.number().positive(), 0, 'It must be greater than 0'],
    ['a large number', z.number().max(5), 6, 'It must be at most 5'],
    ['a limit itself where less is asked', z.number().lt(5), 5, 'It must be less than 5'],
    ['a value of none', z.enum(['a', 'b']), 'c', 'It must be one of a, b'],
    ['no value of several', z.enum(['a', 'b']), undefined, 'It is required'],
    ['another literal', z.literal('a'), 'b', 'It must be a'],
    ['no id', z.uuid(), 'x', `It must be ${ID}`],
    ['no id of version 7', z.uuidv7(), 'x', `It must be ${ID}`],
    ['no id of any form', z.guid(), 'x', `It must be ${ID}`],
    ['no address', z.url(), 'x', 'It must be a web address that begins with http:// or https://'],
    ['no time', z.iso.datetime(), 'x', 'It must be a time in ISO 8601, such as 2026-01-31T12:00:00Z'],
    ['no date', z.iso.date(), 'x', 'It must be a date, such as 2026-01-31'],
    ['no e-mail address', z.email(), 'x', 'It must be an e-mail address'],
    ['a text of another form', z.string().regex(/^a$/), 'b', 'It does not have the right form'],
    ['none of two forms', z.union([z.string(), z.array(z.string())]), 1, 'It has none of the accepted forms'],
    ['nothing for one of two forms', z.union([z.string(), z.null()]), undefined, 'It is required'],
    ['an unknown field', z.strictObject({}), { a: 1, b: 2 }, 'It has unknown fields: a, b'],
    ['a number between the steps', z.number().multipleOf(5), 3, 'It must be a multiple of 5'],
    ['what a rule refuses', z.string().refine(() => false), 'x', 'It is not valid'],
    [
      'a name that a rule refuses',
      z.record(z.string().regex(/^a$/, 'Not an a'), z.any()),
      { b: 1 },
      '`b` has a name that is not allowed: Not an a',
    ],
    ['a field', z.object({ a: z.object({ b: z.string() }) }), { a: { b: 1 } }, '`a.b` must be text'],
    ['an entry', z.object({ a: z.array(z.string()) }), { a: ['x', 1] }, '`a.1` must be text'],
    ['a message from the schema', z.string().min(2, 'Two, please'), 'x', 'Two, please'],
  ])('%s', (_, schema, value, sentence) => {
    expect(refusal(schema, value)).toEqual([sentence]);
  });
});
