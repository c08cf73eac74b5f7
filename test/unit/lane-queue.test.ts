import { expect, it } from 'vitest';
import { endUnrun } from '../../src/temporal/start/lane-queue.ts';

type Ports = Parameters<typeof endUnrun>[0];

/** Ends a task whose record answers so, and returns what the engine is asked. */
async function end(settled: { ended: boolean; next?: string; webhook?: string }): Promise<unknown[]> {
  const asked: unknown[] = [];
  const note = (name: string) => async (of: unknown) => void asked.push([name, of]);
  const engine = { deliver: note('deliver'), proceed: note('proceed'), halt: note('halt') } as unknown as Ports['engine'];
  const settle = (async (...args: unknown[]) => {
    asked.push(['settle', ...args]);
    return { next: null, webhook: null, ...settled };
  }) as unknown as Ports['settle'];
  await endUnrun({ engine, settle }, { task_id: 'ended', principal: 'local:alice' }, 'superseded');
  return asked;
}

const SETTLED = [
  'settle',
  'ended',
  {
    ...{ status: 'halted', error_code: 'superseded', turns: 0 },
    error: 'A newer prompt with on_busy interrupt took its place before this run began',
  },
  { only_pending: true },
];

it('a task that ends before it ran delivers its webhook, lets the next one begin, and has its execution halted', async () => {
  expect(await end({ ended: true, next: 'next', webhook: 'hook' })).toEqual([
    SETTLED,
    ['deliver', { id: 'hook', owner: 'local:alice' }],
    ['proceed', 'next'],
    ['halt', 'ended'],
  ]);
  expect(await end({ ended: true })).toEqual([SETTLED, ['halt', 'ended']]);
});

it('a task that has begun in the meantime is left alone', async () => {
  expect(await end({ ended: false, next: 'next', webhook: 'hook' })).toEqual([SETTLED]);
});
