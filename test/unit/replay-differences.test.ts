import { expect, it } from 'vitest';
import { differences } from '../../src/replay/difference.ts';

it('a replay keeps the difference of the earliest step, and of a step the first', () => {
  const found = differences();
  const note = (step: number, what: string) => found.note(step, what, { recorded: 1, replayed: 2 });
  note(3, 'the third');
  note(2, 'the second');
  note(2, 'another of the second');
  note(5, 'the fifth');
  expect(found.first()).toMatchObject({ step: 2, what: 'the second' });
});

it('a replay does not mind the order of fields, but that of items', () => {
  const found = differences();
  found.compare(1, 'the arguments', { recorded: { a: 1, b: { c: 2, d: 3 } }, replayed: { b: { d: 3, c: 2 }, a: 1 } });
  expect(found.first()).toBeNull();
  found.compare(1, 'the calls', { recorded: ['a', 'b'], replayed: ['b', 'a'] });
  expect(found.first()).toMatchObject({ what: 'the calls' });
});
