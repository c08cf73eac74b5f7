import { describe, expect, it } from 'vitest';
import { splitIntoChunks } from '../../../src/domain/chunks.ts';
import { deltaJoiner, isTooDeep, jsonText, normalReply, storableValue } from '../../../src/domain/normalise.ts';

const [REPLY, ARGUMENTS, RESULT] = [8 * 1_024 * 1_024, 2 * 1_024 * 1_024, 256 * 1_024];
const usage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };
const reply = { text: '', calls: [], finish: 'stop', model: null, usage, extra: null };
const call = { id: '1', name: 'look', arguments: '{}' };
const ofLength = (length: number) => 'x'.repeat(length);
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);

describe('a reply of a model', () => {
  it.each<[string, object, object, string]>([
    ['text', { text: ofLength(REPLY) }, { text: ofLength(REPLY + 1) }, `broken off: more than ${REPLY} characters`],
    ['calls', { calls: Array(256).fill(call) }, { calls: Array(257).fill(call) }, 'broken off: more than 256 tool calls at once'],
    [
      'the name of a call',
      { calls: [{ ...call, name: ofLength(256) }] },
      { calls: [{ ...call, name: ofLength(257) }] },
      `The model called a tool by a name of 257 characters (${ofLength(40)}…); 256 are the most`,
    ],
    [
      'the id of a call',
      { calls: [{ ...call, id: ofLength(1_024) }] },
      { calls: [{ ...call, id: ofLength(1_025) }] },
      'The model gave a tool call an id of 1025 characters',
    ],
    [
      'the arguments of a call',
      { calls: [{ ...call, arguments: ofLength(ARGUMENTS) }] },
      { calls: [{ ...call, arguments: ofLength(ARGUMENTS + 1) }] },
      `The arguments of the model's call of look are longer than ${ARGUMENTS} characters`,
    ],
    ['what is sent back', { extra: nested(100) }, { extra: nested(101) }, 'A value is nested deeper than 100 levels'],
  ])('is taken up to the limit of %s and refused beyond it', (_, most, more, sentence) => {
    expect(normalReply({ ...reply, ...most })).toEqual({ ...reply, ...most });
    expect(() => normalReply({ ...reply, ...more })).toThrow(sentence);
  });

  it('keeps everything that can be stored', () => {
    const whole = {
      ...{ text: 'a', calls: [call, { ...call, id: '2' }], finish: 'tool_calls', model: 'm' },
      usage: { total_in: 1, total_out: 2, cache_read: 3, cache_write: 4 },
      extra: { list: [1, null, true, 'x'], inner: { a: [] } },
      made_there: [
        { ...call, result: { content: 'r', failed: true } },
        { ...call, result: null },
      ],
    };
    expect(normalReply(whole)).toEqual(whole);
  });

  it('has what a vendor made there cut instead of refused', () => {
    const made = (more: object) => ({ ...call, result: null, ...more });
    const cut = (...made_there: ReturnType<typeof made>[]) => normalReply({ ...reply, made_there }).made_there;
    expect(cut(made({ id: ofLength(1_025), name: ofLength(201) }))).toEqual([made({ id: ofLength(1_024), name: ofLength(200) })]);
    expect(cut(made({ arguments: '['.repeat(101) }))).toEqual([made({ arguments: '' })]);
    expect(cut(made({ arguments: ofLength(RESULT) }))).toEqual([made({ arguments: ofLength(RESULT) })]);
    const result = { content: ofLength(RESULT + 7), failed: false };
    expect(cut(made({ result }))).toEqual([
      made({ result: { content: `${ofLength(RESULT)}\n[cut here: 7 more characters]`, failed: false } }),
    ]);
    const many = Array.from({ length: 1_001 }, (_, index) => made({ id: String(index) }));
    expect(cut(...many)).toEqual(many.slice(1));
  });
});

describe('the depth of arguments', () => {
  const taken = (args: string) => normalReply({ ...reply, calls: [{ ...call, arguments: args }] }).calls[0]?.arguments === args;
  it.each([
    ['lists', '['.repeat(100) + ']'.repeat(100)],
    ['objects', `${'{"a":'.repeat(100)}0${'}'.repeat(100)}`],
    ['many lists side by side', `[${Array(300).fill('[]')}]`],
    ['many objects side by side', `[${Array(300).fill('{}')}]`],
    ['many numbers', `[${Array(300).fill('1')}]`],
  ])('may be that of %s', (_, args) => {
    expect(taken(args)).toBe(true);
  });
  it.each([
    ['lists', '['.repeat(101)],
    ['objects', '{'.repeat(101)],
    ['lists after a text', `["]]]]]]", ${'['.repeat(100)}`],
  ])('is refused for deeper %s', (_, args) => {
    expect(() => taken(args)).toThrow("The arguments of the model's call of look are nested deeper than 100 levels");
  });
  it('is that of the deepest member', () => {
    expect([isTooDeep({ a: 1, b: nested(100) }), isTooDeep([nested(99), 1])]).toEqual([true, false]);
  });
});

describe('a value instead of its JSON', () => {
  it.each<[unknown, string]>([
    ['{"a":1}', '{"a":1}'],
    [undefined, ''],
    [null, ''],
    [0, '0'],
    [{ a: [1] }, '{"a":[1]}'],
  ])('%j is written as %j', (value, text) => {
    expect(jsonText(value)).toBe(text);
  });
  it('is refused if it is too deep', () => {
    expect(() => jsonText(nested(101))).toThrow("The arguments of the model's call are nested deeper than 100 levels");
  });
  it('is stored with each of its texts, names included', () => {
    const value = { 'a\u0000': ['b\ud83d', 1, null, { c: '\u0000' }] };
    expect(storableValue(value, 'x')).toEqual({ 'a\ufffd': ['b\ufffd', 1, null, { c: '\ufffd' }] });
  });
});

describe('a text in pieces', () => {
  const joined = (...deltas: string[]) => {
    const emitted: string[] = [];
    const joiner = deltaJoiner((delta) => emitted.push(delta));
    for (const delta of deltas) joiner.push(delta);
    return { emitted, joiner };
  };
  it('ends with the half of a character that nothing followed, once', () => {
    const { emitted, joiner } = joined('x\ud83d', '');
    joiner.end();
    joiner.end();
    expect(emitted).toEqual(['x', '\ufffd']);
  });
  it('has no empty piece, not at its end either', () => {
    const { emitted, joiner } = joined('', '\ud83d', '\ude00', '');
    joiner.end();
    expect(emitted).toEqual(['😀']);
  });
  it('may be as long as a reply, and no longer', () => {
    const half = ofLength(REPLY / 2);
    const { emitted, joiner } = joined(half, half);
    expect(emitted).toHaveLength(2);
    expect(() => joiner.push('x')).toThrow(`more than ${REPLY} characters`);
  });
});

describe('a chunk', () => {
  it('is the whole text up to its size, without the space around it', () => {
    const text = `${'a'.repeat(700)} ${'b'.repeat(499)}`;
    expect(splitIntoChunks(`\r\n ${text}   `)).toEqual([text]);
    expect(splitIntoChunks('a\r\nb')).toEqual(['a\nb']);
    expect(splitIntoChunks(' \n ')).toEqual([]);
  });
  it('begins with a whole word', () => {
    const words = Array.from({ length: 600 }, (_, index) => `word${index}`);
    const chunks = splitIntoChunks(words.join(' '));
    expect(chunks.length).toBeGreaterThan(3);
    for (const chunk of chunks) expect(words).toEqual(expect.arrayContaining([chunk.split(' ')[0], chunk.split(' ').at(-1)]));
  });
  it('repeats the end of the one before it, also where no word ends', () => {
    const chunks = splitIntoChunks(`${'a'.repeat(1_000)} ${'b'.repeat(3_000)} c`);
    expect(chunks.join('').replaceAll(/[^b]/g, '').length).toBeGreaterThan(3_000);
    expect(chunks.map((chunk) => chunk.length).filter((length) => length > 1_200)).toEqual([]);
  });
  it('is never empty, however much space there is', () => {
    const chunks = splitIntoChunks(`${'a'.repeat(700)}${' '.repeat(5_000)}b`);
    expect(chunks.filter((chunk) => chunk.trim() === '')).toEqual([]);
    expect(chunks.join('')).toMatch(/^a{700}.*b$/);
  });
  it('has whole characters at both ends', () => {
    const chunks = splitIntoChunks(`${'𝕏'.repeat(590)}a${'𝕏'.repeat(1_000)}`);
    expect(chunks.filter((chunk) => !chunk.isWellFormed() || chunk.length > 1_200)).toEqual([]);
  });
});
