import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseArguments } from '../../../src/domain/arguments.ts';
import { findRepeatedName, indentExactly } from '../../../src/domain/exact-json.ts';
import { showUnseen } from '../../../src/domain/unseen.ts';

it.each([
  ['pay \u202Ebob\u202C', 'pay ‹U+202E›bob‹U+202C›'],
  ['rm -rf /\u200B', 'rm -rf /‹U+200B›'],
  ['a\u2066b\u2069\uFEFF\u00AD\u3164\u{E0041}', 'a‹U+2066›b‹U+2069›‹U+FEFF›‹U+00AD›‹U+3164›‹U+E0041›'],
  ['\u001B[2Jgone\rover', '‹U+001B›[2Jgone‹U+000D›over'],
  ['two\r\nlines\twith é, 漢 and 🙂', 'two\r\nlines\twith é, 漢 and 🙂'],
])('%j is shown as %j', (text, shown) => expect(showUnseen(text)).toBe(shown));

it('the legacy dashboard shows the same characters', () => {
  const [legacy, here] = ['dashboard-legacy/decisions.js', 'domain/unseen.ts'].map(
    (path) => /UNSEEN = (.+);/.exec(readFileSync(new URL(`../../../src/${path}`, import.meta.url), 'utf8'))?.[1],
  );
  expect(legacy).toBe(here);
});

it.each([
  ['{"a": 1, "a": 2}', 'a'],
  ['{"to": {"id": 1, "\\u0069d": 2}}', 'id'],
  ['[{"x": [{"y": 1, "z": "}", "y": 1}]}]', 'y'],
  ['{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], "c": "a\\": {\\"a"}', null],
  ['{"": 1, "__proto__": {"": 2}}', null],
])('of %s, %j is named twice', (text, name) => {
  expect(findRepeatedName(text)).toBe(name);
  const read = parseArguments(text);
  if (name !== null && text.startsWith('{'))
    expect(read).toEqual({ refusal: expect.stringContaining(`${JSON.stringify(name)} twice`) });
  else if (name === null) expect(read).toHaveProperty('arguments');
});

it('JSON is formatted with its numbers and names as they are written', () => {
  const text = '{"id":12345678901234567890,"price":1.10,"huge":1e400,"id":0,"empty":[],"none":{},"list":[1,{"a":"\\u202e é"}]}';
  expect(indentExactly(text)).toBe(
    [
      ...[
        '{',
        '  "id": 12345678901234567890,',
        '  "price": 1.10,',
        '  "huge": 1e400,',
        '  "id": 0,',
        '  "empty": [],',
        '  "none": {},',
      ],
      ...['  "list": [', '    1,', '    {', '      "a": "\u202e é"', '    }', '  ]', '}'],
    ].join('\n'),
  );
  const value = { a: [1, { b: null, c: 'x: {' }], d: true };
  expect(indentExactly(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  expect(() => indentExactly('{"a": 1')).toThrow();
});
