import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
});
afterAll(() => here.stop());

const PATH = '/api/me/settings';
const view = (name: string, query: object = { status: 'failed' }) => ({ screen: 'tasks', name, query });

it('keeps saved views for each person', async () => {
  const { alice, bob } = here;
  expect(await alice.ok(alice.get(PATH))).toEqual({ views: [] });
  const views = [view('Failed'), view('Dear', { min_cost: '1', sort: 'cost' })];
  expect(await alice.ok(alice.put(PATH, { views }))).toEqual({ views });
  expect(await alice.ok(alice.get(PATH))).toEqual({ views });
  expect(await alice.ok(alice.put(PATH, {}))).toEqual({ views });
  expect(await bob.ok(bob.get(PATH))).toEqual({ views: [] });
  expect(await alice.ok(alice.put(PATH, { views: [] }))).toEqual({ views: [] });
});

it('refuses to overwrite what another tab has saved meanwhile', async () => {
  const { bob } = here;
  const seen = await bob.get(PATH);
  await bob.ok(bob.put(PATH, { views: [view('First')] }));
  const late = await bob.send('PUT', PATH, {
    body: { views: [view('Second')] },
    headers: { 'if-match': seen.headers.get('etag') as string },
  });
  expect(late.status).toBe(412);
  expect((await bob.ok(bob.get(PATH))).views).toEqual([view('First')]);
});

it('limits what they hold', async () => {
  const refused = async (views: object[]) => (await here.alice.put(PATH, { views })).body.errors?.[0]?.path;
  expect(await refused([view('x', { a: 'x'.repeat(501) })])).toBe('views.0.query.a');
  expect(await refused([view('x', Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, 'x'])))])).toBe(
    'views.0.query',
  );
  expect(await refused(Array.from({ length: 101 }, (_, n) => view(`view ${n}`)))).toBe('views');
  expect(await refused([{ ...view('x'), screen: 'elsewhere' }])).toBe('views.0.screen');
});
