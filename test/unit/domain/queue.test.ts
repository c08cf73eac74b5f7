import { expect, it } from 'vitest';
import { gate } from '../../../src/domain/queue.ts';

const { signal } = new AbortController();

/** The order in which those who wait come in. */
function crowd(size: number) {
  const calls = gate(size);
  const inside: string[] = [];
  const enter = async (name: string, by = signal) => {
    const leave = await calls.enter(by);
    inside.push(name);
    return leave;
  };
  return { enter, inside };
}

/** Until everybody who may enter is inside. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('lets so many in at once, and the next in the order of arrival', async () => {
  const { enter, inside } = crowd(2);
  const [leave] = await Promise.all([enter('a'), enter('b')]);
  const third = enter('c');
  const fourth = enter('d');
  await settled();
  expect(inside).toEqual(['a', 'b']);
  leave();
  await settled();
  expect(inside).toEqual(['a', 'b', 'c']);
  (await third)();
  await fourth;
  expect(inside).toEqual(['a', 'b', 'c', 'd']);
});

it('is free again when everybody has left', async () => {
  const { enter, inside } = crowd(1);
  (await enter('a'))();
  (await enter('b'))();
  await enter('c');
  void enter('d');
  await settled();
  expect(inside).toEqual(['a', 'b', 'c']);
});

it('rejects who gives up with the reason, before and while waiting, and keeps the place of nobody', async () => {
  const { enter, inside } = crowd(1);
  const leave = await enter('a');
  const impatient = new AbortController();
  const second = enter('b', impatient.signal);
  const third = enter('c');
  impatient.abort(new Error('too late'));
  await expect(second).rejects.toThrow('too late');
  await expect(enter('d', impatient.signal)).rejects.toThrow('too late');
  leave();
  (await third)();
  await enter('e');
  expect(inside).toEqual(['a', 'c', 'e']);
});

it('takes no notice of a signal that is aborted once its caller is inside', async () => {
  const { enter, inside } = crowd(1);
  const leave = await enter('a');
  const gone = new AbortController();
  const second = enter('b', gone.signal);
  const third = enter('c');
  leave();
  const leaveSecond = await second;
  gone.abort(new Error('gone'));
  leaveSecond();
  await third;
  expect(inside).toEqual(['a', 'b', 'c']);
});
