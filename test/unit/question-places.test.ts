import { expect, it } from 'vitest';
import { questionPlaces } from '../../src/temporal/activities/questions.ts';

it('questions take at most half of the slots of a worker, and those of one owner a quarter of these', () => {
  const enter = questionPlaces(16);
  const [first, second] = [enter('alice'), enter('alice')];
  expect([first, second]).not.toContain(null);
  expect(enter('alice')).toBeNull();
  for (const owner of ['bob', 'bob', 'carol', 'carol', 'dan', 'dan']) expect(enter(owner)).not.toBeNull();
  expect(enter('eve')).toBeNull();
  first?.();
  expect(enter('eve')).not.toBeNull();
});

it('one question has a place on a worker with a single slot', () => {
  expect(questionPlaces(1)('alice')).not.toBeNull();
});
