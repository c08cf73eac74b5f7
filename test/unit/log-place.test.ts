import type pg from 'pg';
import { expect, it } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { epochStore } from '../../src/store/runs/epoch.ts';

const EPOCH = { installation: 'i', epoch: 3, beat: 7 };
const PLACE = { cluster: 'c', timeline: 1, written: 5 };

/** A server that answers the question for the place of its log in this way. */
function serverOf(answer: () => object[]) {
  let asked = 0;
  const query = async ({ name }: pg.QueryConfig) => {
    if (name === 'read_log_place') asked += 1;
    return { rows: name === 'read_log_place' ? answer() : [{ epoch: EPOCH }] };
  };
  return { store: epochStore({ query } as unknown as pg.Pool), asked: () => asked };
}
const refusing = (error: Error) => () => {
  throw error;
};
const refused = (code: string) => Object.assign(new Error('refused'), { code });

it('the mark has the place of the log, if the server reports it', async () => {
  expect(await serverOf(() => [PLACE]).store.read()).toEqual({ ...EPOCH, log: PLACE });
});

it('the mark of a standby has no place, and a standby is asked each time', async () => {
  const { store, asked } = serverOf(() => []);
  expect([await store.read(), await store.read()]).toEqual([EPOCH, EPOCH]);
  expect(await store.advance(0, {})).toStrictEqual(EPOCH);
  expect(asked()).toBe(2);
});

it.each([
  ['lacks the function', refused('42883')],
  ['does not let this account call it', new OutageError({ code: 'database_unavailable', sentence: 'Down' }, refused('42501'))],
])('a server that %s is asked once', async (_, error) => {
  const { store, asked } = serverOf(refusing(error));
  expect([await store.read(), await store.read()]).toEqual([EPOCH, EPOCH]);
  expect(asked()).toBe(1);
});

it.each([refused('57P01'), new Error('no code')])('a failure that is not a refusal is reported: %s', async (error) => {
  await expect(serverOf(refusing(error)).store.read()).rejects.toBe(error);
});
