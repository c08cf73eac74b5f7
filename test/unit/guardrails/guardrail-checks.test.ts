import { describe, expect, it } from 'vitest';
import {
  checkAnswer,
  checkPrompt,
  checkRequest,
  type GuardrailConfig,
  listConfigFaults,
} from '../../../src/parsers/child/guardrail-checks.ts';
import { compilePattern, findMatches, redactSpans } from '../../../src/parsers/child/patterns.ts';
import { findPersonalData } from '../../../src/parsers/child/pii.ts';

describe('the objections to a text', () => {
  it.each<[string, GuardrailConfig, string, string[]]>([
    ['none without rules', {}, 'x', []],
    [
      'a forbidden pattern',
      { forbidden_patterns: ['a', 'b+', 'c'] },
      'xabby',
      ['it matches the forbidden pattern a', 'it matches the forbidden pattern b+'],
    ],
    ['a required pattern', { required_patterns: ['a', 'b'] }, 'a', ['it does not match the required pattern b']],
    ['an empty match is none', { forbidden_patterns: ['z*'] }, 'abc', []],
    ['the shortest length', { min_length: 3 }, 'ab', ['it has 2 characters, at least 3 are asked']],
    ['the shortest length itself', { min_length: 3 }, 'abc', []],
    ['the longest length', { max_length: 3 }, 'abcd', ['it has 4 characters, at most 3 are allowed']],
    ['the longest length itself', { max_length: 3 }, 'abc', []],
    ['a length of none', { max_length: 0 }, 'a', ['it has 1 characters, at most 0 are allowed']],
    ['no length', { min_length: null, max_length: null }, '', []],
    ['no length, of a text', { min_length: null, max_length: null }, 'abc', []],
    ['characters, not halves of them', { max_length: 2, min_length: 2 }, '😀😀', []],
  ])('%s', (_, config, text, reasons) => {
    expect(checkPrompt({ config, text })).toEqual(reasons);
    expect(checkAnswer({ config, text })).toEqual({ reasons, redacted: null });
  });

  it.each<[string, GuardrailConfig['json_schema'], string, unknown]>([
    ['what the schema accepts', { type: 'object', required: ['a'] }, '{"a":1}', []],
    ['what it does not', { type: 'object', required: ['a'] }, '{}', ["request must have required property 'a'"]],
    ['what is not JSON', { type: 'object' }, '{', ['it is not JSON']],
    ['anything, without a schema', undefined, '1', []],
    ['null', undefined, 'null', []],
    [
      'the second of two patterns',
      { properties: { a: { pattern: '^x' }, b: { pattern: '^y' } } },
      '{"a":"x","b":"x"}',
      ['request/b must match pattern "^y"'],
    ],
    [
      'a pattern in linear time',
      { type: 'string', pattern: '^(a+)+$' },
      `"${'a'.repeat(40)}!"`,
      [expect.stringContaining('must match pattern')],
    ],
  ])('as a request: %s', (_, json_schema, text, reasons) => {
    expect(checkRequest({ config: json_schema ? { json_schema } : {}, text })).toEqual(reasons);
  });

  it('has to be JSON where that is asked', () => {
    const json = (text: string) => checkAnswer({ config: { must_be_valid_json: true }, text }).reasons;
    expect([json('{"a":1}'), json('null'), json('so')]).toEqual([[], [], ['it is not valid JSON']]);
    expect(checkAnswer({ config: { must_be_valid_json: false }, text: 'so' }).reasons).toEqual([]);
  });

  it('holds personal data where that is looked for, each kind once', () => {
    const text = 'a@b.example, c@d.example and 10.0.0.1';
    expect(checkAnswer({ config: { pii_detection: true }, text }).reasons).toEqual([
      'it holds personal data (e-mail address, IP address)',
    ]);
    expect(checkAnswer({ config: { pii_detection: true }, text: 'nobody' }).reasons).toEqual([]);
    expect(checkAnswer({ config: { pii_detection: false }, text }).reasons).toEqual([]);
  });

  it.each<[string, GuardrailConfig, string, string | null]>([
    ['what is fine', { forbidden_patterns: ['a'] }, 'xyz', null],
    [
      'patterns and personal data',
      { forbidden_patterns: ['b+'], pii_detection: true },
      'abbc a@b.example',
      'a[REDACTED]c [REDACTED]',
    ],
    ['to the allowed length', { max_length: 3 }, 'ab😀de', 'ab😀'],
    ['then to the allowed length', { forbidden_patterns: ['b'], max_length: 12 }, 'abc-and-more-and-more', 'a[REDACTED]c'],
    ['to no length where none is set', { forbidden_patterns: ['b'], max_length: null }, 'abc', 'a[REDACTED]c'],
    ['nothing of what lacks a pattern', { required_patterns: ['z'] }, 'abc', 'abc'],
  ])('is redacted: %s', (_, config, text, expected) => {
    expect(checkAnswer({ config: { ...config, action: 'redact' }, text }).redacted).toBe(expected);
    expect(checkAnswer({ config: { ...config, action: 'block' }, text }).redacted).toBeNull();
  });

  it('is redacted once where stretches touch or overlap', () => {
    const cut = (...spans: [number, number][]) =>
      redactSpans(
        '0123456789',
        spans.map(([start, end]) => ({ start, end })),
      );
    expect(cut()).toBe('0123456789');
    expect(cut([0, 2])).toBe('[REDACTED]23456789');
    expect(cut([8, 10])).toBe('01234567[REDACTED]');
    expect(cut([2, 4], [4, 6])).toBe('01[REDACTED]6789');
    expect(cut([0, 2], [2, 4])).toBe('[REDACTED]456789');
    expect(cut([4, 6], [2, 5])).toBe('01[REDACTED]6789');
    expect(cut([2, 8], [3, 4], [8, 9])).toBe('01[REDACTED]9');
    expect(cut([1, 2], [3, 4])).toBe('0[REDACTED]2[REDACTED]456789');
    expect(cut([0, 1], [0, 3])).toBe('[REDACTED]3456789');
  });

  it('are found at each place', () => {
    expect([...findMatches(compilePattern('a+'), 'aabaa')]).toEqual([
      { start: 0, end: 2 },
      { start: 3, end: 5 },
    ]);
    expect([...findMatches(compilePattern('x?'), 'ab')]).toEqual([]);
  });
});

describe('the faults of a configuration', () => {
  it('are named by their field', () => {
    expect(listConfigFaults({})).toEqual([]);
    expect(
      listConfigFaults({ forbidden_patterns: ['a', '(b'], required_patterns: ['(?=c)'], json_schema: { type: 'nothing' } }),
    ).toEqual([
      { path: 'config.forbidden_patterns.1', message: expect.stringMatching(/^Not a pattern in RE2 syntax: .+/) },
      { path: 'config.required_patterns.0', message: expect.stringMatching(/^Not a pattern in RE2 syntax: .+/) },
      { path: 'config.json_schema', message: expect.stringMatching(/^Not a JSON Schema: .+/) },
    ]);
    expect(listConfigFaults({ forbidden_patterns: ['a'], json_schema: { type: 'object' } })).toEqual([]);
  });

  it('are only those of patterns: another error is passed on', () => {
    expect(() => compilePattern(null as never)).toThrow(TypeError);
  });
});

describe('personal data', () => {
  it.each([
    ['e-mail address', 'me@mail.example'],
    ['e-mail address', 'jörg.o%n+x-y_z@sub.mail-host.example'],
    ['IBAN', 'DE89370400440532013000'],
    ['IBAN', 'DE89 3704 0044 0532 0130 00'],
    ['IBAN', 'NO93 8601 1117 947'],
    ['card number', '4242424242424242'],
    ['card number', '4242 4242 4242 4242'],
    ['card number', '3782-822463-10005'],
    ['US social security number', '123-45-6789'],
    ['US social security number', '123-45-0009'],
    ['US social security number', '123-45-6660'],
    ['IP address', '192.168.0.1'],
    ['IP address', '2001:db8:0:0:0:0:0:1'],
    ['IP address', '2001:db8::1:2'],
    ['phone number', '+49 30 901820'],
    ['phone number', '(212) 555-0123'],
    ['phone number', '212-555-0123'],
    ['phone number', '+442079460000'],
  ])('is found: %s %s', (kind, text) => {
    const before = 'Take ';
    expect(findPersonalData(`${before}${text}, please`)).toEqual([
      { kind, start: before.length, end: before.length + text.length },
    ]);
  });

  it.each([
    'me@mail',
    'a@@b.example',
    'DE88370400440532013000',
    '4242424242424241',
    '000-45-6789',
    '666-45-6789',
    '900-45-6789',
    '123-00-6789',
    '123-45-0000',
    '999.1.1.1',
    '1.2.3',
    '12:34:56',
    '12345',
    'plain words',
  ])('is not: %s', (text) => {
    expect(findPersonalData(`Take ${text}, please`)).toEqual([]);
  });

  it.each([
    ['10.0.0.1 212-555-0123', ['10.0.0.1', '212-555-0123']],
    ['4242 4242 4242 4242 (212) 555-0123', ['4242 4242 4242 4242', '(212) 555-0123']],
    ['123-45-6789 10.0.0.1', ['123-45-6789', '10.0.0.1']],
    ['me@mail.example,you@mail.example', ['me@mail.example', 'you@mail.example']],
    ['DE89 3704 0044 0532 0130 00 4242424242424242', ['DE89 3704 0044 0532 0130 00', '4242424242424242']],
  ])('does not hide what is next to it: %s', (text, parts) => {
    expect(findPersonalData(text).map(({ start, end }) => text.slice(start, end))).toEqual(parts);
  });

  it('counts as the first kind that it is, each place once', () => {
    expect(findPersonalData('202.55.50.123').map(({ kind }) => kind)).toEqual(['IP address']);
    expect(findPersonalData('4242424242424242').map(({ kind }) => kind)).toEqual(['card number']);
    expect(findPersonalData('me@mail.example you@mail.example 10.0.0.1').map(({ kind }) => kind)).toEqual([
      ...['e-mail address', 'e-mail address', 'IP address'],
    ]);
  });
});
