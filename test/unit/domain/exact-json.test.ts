import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../../src/domain/arguments.ts';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import { exactly, isExactNumber, parseExact, toDoubles } from '../../../src/domain/exact-json.ts';
import { redactor } from '../../../src/domain/redaction.ts';
import { shorterAsTsv } from '../../../src/domain/tsv.ts';

const ID = '1234567890123456789';

describe('an integer that a double cannot hold', () => {
  it.each([ID, `-${ID}`, '9007199254740993', '9'.repeat(400)])('is written as it was read: %s', (digits) => {
    const text = `{"id":${digits},"in":[{"id":${digits}}],"text":"${digits}"}`;
    expect(JSON.stringify(parseExact(text))).toBe(text);
  });

  it.each(['1', '9007199254740991', '1.5', '1e308', '1e400', '0.1234567890123456789', `"${ID}"`, '9'.repeat(2_000)])(
    'is not meant by %s',
    (text) => {
      expect(parseExact(`[${text}]`)).toEqual(JSON.parse(`[${text}]`));
    },
  );

  it('is refused where JSON has no integer', () => {
    expect(() => parseExact(`{"id": 0${ID}}`)).toThrow(SyntaxError);
  });

  it('is a double for code that calculates', () => {
    expect(toDoubles(parseExact(`{"a": [${ID}, {"b": null}], "c": "x"}`))).toEqual({ a: [Number(ID), { b: null }], c: 'x' });
  });

  it('is part of what distinguishes calls', () => {
    const [one, other] = [ID, '1234567890123456788'].map((id) => parseArguments(`{"b": 1, "id": ${id}}`));
    expect(Number(ID)).toBe(Number('1234567890123456788'));
    expect(canonicalJson(one)).not.toBe(canonicalJson(other));
    expect(canonicalJson(one)).toBe(`{"arguments":{"b":1,"id":${ID}}}`);
  });

  it('is redacted if it is a secret', () => {
    expect(redactor([ID]).json(`{"id": ${ID}, "next": 1234567890123456790}`)).toBe(
      '{"id":"[redacted]","next":1234567890123456790}',
    );
  });

  it('stays as it is in a table', () => {
    const rows = ['first', 'second', 'third'].map((name, index) => `{"name": "${name}", "id": ${ID}${index}, "size": null}`);
    expect(shorterAsTsv(`[${rows.join(', ')}]`)).toBe(
      `name\tid\tsize\nfirst\t${ID}0\tnull\nsecond\t${ID}1\tnull\nthird\t${ID}2\tnull`,
    );
    const list = `{"result": [${ID}, ${ID}, ${ID}]}`;
    expect(shorterAsTsv(list)).toBe(list);
  });
});

describe('arguments that were converted to a schema', () => {
  const written = parseExact(`{"id": ${ID}, "text": "${ID}", "in": [${ID}, 2], "name": ${ID}, "small": "7"}`);

  it('have the integers that were written', () => {
    const converted = { id: Number(ID), text: Number(ID), in: [Number(ID), 2], name: String(Number(ID)), small: 7 };
    expect(JSON.stringify(exactly(converted, written))).toBe(`{"id":${ID},"text":${ID},"in":[${ID},2],"name":"${ID}","small":7}`);
  });

  it('keep what is not the same number, and lack what was left out', () => {
    expect(exactly({ id: Number(ID) * 2, other: Number(ID) }, written)).toEqual({ id: Number(ID) * 2, other: Number(ID) });
    expect(isExactNumber(exactly(Number(ID), 'not a number'))).toBe(false);
  });
});
