import { expect, it } from 'vitest';
import { deltaJoiner, isTooDeep, normalReply, tokenCount } from '../../src/domain/normalise.ts';
import { storable } from '../../src/domain/transcript.ts';

/** Repeatable garbage. */
function randomOf(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // Its low bits repeat after few steps.
    return Math.floor((state / 2 ** 32) * below);
  };
}
type Random = ReturnType<typeof randomOf>;

const PIECES = ['\u0000', '\uD83D', '\uDE00', '😀', 'plain', '"', '\\', '{"a":[', ']}', '\uFFFF', '\n', 'é'];
const textOf = (random: Random, most = 40): string =>
  Array.from({ length: random(most) }, () => PIECES[random(PIECES.length)]).join('');

function garbageOf(random: Random, depth: number): unknown {
  const kind = random(depth > 0 ? 6 : 4);
  if (kind === 0) return textOf(random);
  if (kind === 1) return [Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300, 0.5, 7][random(6)];
  if (kind === 2) return null;
  if (kind === 3) return random(2) === 0;
  const members = Array.from({ length: random(4) }, () => [textOf(random, 4), garbageOf(random, depth - 1)] as const);
  return kind === 4 ? members.map(([, value]) => value) : Object.fromEntries(members);
}

const numberOf = (random: Random) => garbageOf(random, 0) as number;

const replyOf = (random: Random) => ({
  text: textOf(random),
  calls: Array.from({ length: random(5) }, () => ({
    id: textOf(random),
    name: textOf(random, 200),
    arguments: random(4) === 0 ? '['.repeat(random(300)) : textOf(random),
  })),
  finish: textOf(random, 400),
  model: random(2) === 0 ? null : textOf(random, 400),
  usage: {
    ...{ total_in: numberOf(random), total_out: numberOf(random) },
    ...{ cache_read: numberOf(random), cache_write: numberOf(random) },
  },
  extra: garbageOf(random, 5),
  made_there: Array.from({ length: random(3) }, () => ({
    ...{ id: textOf(random), name: textOf(random, 400), arguments: textOf(random) },
    result: random(2) === 0 ? null : { content: textOf(random), failed: false },
  })),
});

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
}

it('makes any reply storable and bounded, or refuses it by a name', () => {
  let taken = 0;
  const refused = new Map<string, number>();
  for (let seed = 0; seed < 3_000; seed += 1) {
    const reply = replyOf(randomOf(seed));
    let normal: typeof reply;
    try {
      normal = normalReply(reply);
      taken += 1;
    } catch (error) {
      const { code } = error as { code: string };
      refused.set(code, (refused.get(code) ?? 0) + 1);
      continue;
    }
    for (const text of textsIn(normal)) expect(text).toBe(storable(text));
    expect(normal.text).toBe(storable(reply.text));
    for (const word of [normal.finish, normal.model ?? '', ...normal.made_there.map(({ name }) => name)])
      expect(word.length).toBeLessThanOrEqual(200);
    for (const { name, arguments: args } of normal.calls) {
      expect(name.length).toBeLessThanOrEqual(256);
      expect(args).not.toContain('['.repeat(101));
    }
    for (const count of Object.values(normal.usage)) {
      expect(count).toBeGreaterThanOrEqual(0);
      expect(Number.isSafeInteger(count)).toBe(true);
    }
  }
  expect(taken).toBeGreaterThan(500);
  expect([...refused.keys()].sort()).toEqual(['tool_arguments_too_deep', 'tool_name_too_long']);
  expect(Math.min(...refused.values())).toBeGreaterThan(50);
});

it('emits a text in pieces exactly as it will be recorded, wherever it is cut', () => {
  for (let seed = 0; seed < 2_000; seed += 1) {
    const random = randomOf(seed);
    const text = textOf(random, 30);
    const emitted: string[] = [];
    const joiner = deltaJoiner((delta) => emitted.push(delta));
    for (let at = 0; at < text.length; ) {
      const length = 1 + random(3);
      joiner.push(text.slice(at, at + length));
      at += length;
    }
    joiner.end();
    expect(emitted.join('')).toBe(storable(text));
    for (const delta of emitted) expect(delta).toBe(storable(delta));
  }
});

it('joins a character that was cut in two', () => {
  const emitted: string[] = [];
  const joiner = deltaJoiner((delta) => emitted.push(delta));
  for (const delta of ['x\uD83D', '\uDE00y']) joiner.push(delta);
  joiner.end();
  expect(emitted).toEqual(['x', '😀y']);
});

const reply = {
  ...{ text: '', calls: [], finish: 'stop', model: null, extra: null },
  usage: { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 },
};
const call = { id: '1', name: 'look', arguments: '{}' };
const nested = (depth: number) => Array.from({ length: depth }).reduce<unknown>((inner) => [inner], 0);

it.each([
  ['a text too long', { text: 'x'.repeat(8 * 1_024 * 1_024 + 1) }, 'model_answer_too_large'],
  ['an id too long', { calls: [{ ...call, id: 'x'.repeat(1_025) }] }, 'model_answer_too_large'],
  ['calls without end', { calls: Array.from({ length: 257 }, () => call) }, 'tool_calls_too_many'],
  ['a name too long', { calls: [{ ...call, name: 'x'.repeat(3_000_000) }] }, 'tool_name_too_long'],
  ['arguments too long', { calls: [{ ...call, arguments: `"${'x'.repeat(3_000_000)}"` }] }, 'tool_arguments_too_large'],
  ['arguments too deep', { calls: [{ ...call, arguments: '{"a":'.repeat(5_000) }] }, 'tool_arguments_too_deep'],
  ['what is sent back too deep', { extra: nested(101) }, 'model_answer_too_large'],
])('refuses %s', (_, values, code) => {
  expect(() => normalReply({ ...reply, ...values })).toThrow(expect.objectContaining({ code }));
});

it('takes brackets within texts for what they are', () => {
  const args = JSON.stringify({ text: `${'['.repeat(500)}\\"${'{'.repeat(500)}` });
  expect(normalReply({ ...reply, calls: [{ ...call, arguments: args }] }).calls[0]?.arguments).toBe(args);
});

it('looks no deeper than it has to', () => {
  expect([isTooDeep(nested(100)), isTooDeep(nested(101)), isTooDeep(nested(100_000)), isTooDeep('[')]).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

it('counts what can be counted', () => {
  expect([Number.NaN, Number.POSITIVE_INFINITY, -1, '7', 1e300, 2.4].map(tokenCount)).toEqual([0, 1e8, 0, 0, 1e8, 2]);
});
