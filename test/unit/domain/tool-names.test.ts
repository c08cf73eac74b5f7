import { expect, it } from 'vitest';
import { findMeantTool, freeToolName, isNumbered, modelName, prefixName } from '../../../src/domain/tool-names.ts';

const LONG = 'x'.repeat(64);

it('a name has 64 characters at most, of those that every endpoint takes', () => {
  expect([modelName('a b.c/ä-_9Z'), modelName(`${LONG}y`), prefixName('server', LONG)]).toEqual([
    ...['a_b_c__-_9Z', LONG, `server_${'x'.repeat(57)}`],
  ]);
});

it('a name that is taken gets that of its source, then numbers, within 64 characters', () => {
  const used = new Map<string, unknown>();
  const take = (name: string) => {
    const free = freeToolName(name, 'server', used);
    used.set(free, null);
    return free;
  };
  expect(['find', 'find', 'find', 'find'].map(take)).toEqual(['find', 'server_find', 'server_find_2', 'server_find_3']);
  const base = `server_${'x'.repeat(53)}`;
  expect([LONG, LONG, LONG].map(take)).toEqual([LONG, `server_${'x'.repeat(57)}`, `${base}_2`]);
  expect([...used.keys()].filter((name) => name.length > 64)).toEqual([]);
});

it('a numbered name is known by the name that it is made of', () => {
  const names = [
    'server_find_2',
    'server_find_17',
    'server_find',
    'server_find_',
    'server_find_x',
    'server_find_2x',
    'other_find_2',
  ];
  expect(names.map((name) => isNumbered(name, 'server_find'))).toEqual([true, true, false, false, false, false, false]);
  expect(isNumbered(`server_${'x'.repeat(53)}_2`, prefixName('server', LONG))).toBe(true);
});

it.each([
  [' find ', 'find'],
  ['"find"', 'find'],
  ['functions.find', 'find'],
  ['Tool:find', 'find'],
  ['default_api/find', 'find'],
  ['functions.taken', 'functions.taken'],
  ['"find', '"find'],
  ['other.find', 'other.find'],
])('by %j a model means %j', (written, meant) => {
  expect(findMeantTool(written, new Set(['find', 'taken', 'functions.taken']))).toBe(meant);
});
