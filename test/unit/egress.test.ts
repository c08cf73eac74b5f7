import { expect, it } from 'vitest';
import { guardedFetch, isDenied } from '../../src/egress/guarded-fetch.ts';
import { startReceiver } from '../support/receiver.ts';

const denial = async (work: Promise<unknown>) =>
  isDenied(
    await work.then(
      () => null,
      (error: unknown) => error,
    ),
  );

it('reaches what is allowed, and nothing private beside it', async () => {
  const receiver = await startReceiver();
  const { port } = new URL(receiver.url);
  const open = guardedFetch([`127.0.0.1:${port}`]);
  const shut = guardedFetch([]);
  expect((await open.fetch(receiver.url)).status).toBe(200);
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0177.0.0.1', '2130706433'])
    expect(await denial(shut.fetch(`http://${host}:${port}/`)), host).toBe(true);
  expect(receiver.received).toHaveLength(1);
  await Promise.all([open.close(), shut.close(), receiver.stop()]);
});

it('judges where a redirect leads', async () => {
  const inner = await startReceiver();
  const outer = await startReceiver({ location: inner.url });
  outer.answers(302);
  const guarded = guardedFetch([`127.0.0.1:${new URL(outer.url).port}`]);
  expect(await denial(guarded.fetch(outer.url))).toBe(true);
  expect(inner.received).toHaveLength(0);
  await Promise.all([guarded.close(), outer.stop(), inner.stop()]);
});
