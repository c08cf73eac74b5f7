import { expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { quotasOf } from '../../src/store/quota-checks.ts';

it('admits no task beyond the limit when others are admitted and stored while it is counted', async () => {
  const stored: string[] = [];
  const counts: (() => void)[] = [];
  const store = {
    storedBytes: async () => 0,
    // The count is of the moment at which the query began, and arrives when the test lets it.
    openTasks: async () => {
      const open = stored.length;
      await new Promise<void>((resolve) => counts.push(resolve));
      return open;
    },
  };
  const quotas = quotasOf(store, readConfig({ RUNNING_TASKS_PER_PRINCIPAL: '2' }));
  const prompt = (name: string) =>
    quotas
      .admitTask('alice', async () => stored.push(name))
      .then(
        () => 'admitted',
        ({ code }) => code,
      );

  const slow = prompt('slow');
  const first = prompt('first');
  counts[1]!();
  await first;
  const second = prompt('second');
  counts[2]!();
  await second;
  expect(stored).toEqual(['first', 'second']);
  counts[0]!();
  await new Promise(setImmediate);
  counts[3]?.();
  expect(await slow).toBe('running_tasks_limit');
});
