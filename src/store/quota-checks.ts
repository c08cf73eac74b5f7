import { AppError, overLimit } from '../domain/errors.ts';
import type { Config } from '../main/config.ts';
import type { QuotaStore } from './quotas.ts';

/** What a principal may store and have running. Both refuse by throwing. */
export interface Quotas {
  /** Before so many bytes more are stored. */
  admitBytes(owner: string, bytes: number): Promise<void>;
  /** Does the work of making a task, if there is room for one. */
  admitTask<T>(owner: string, make: () => Promise<T>): Promise<T>;
}

export function quotasOf(store: QuotaStore, config: Config): Quotas {
  const { STORED_BYTES_PER_PRINCIPAL: most_bytes, RUNNING_TASKS_PER_PRINCIPAL: most_tasks } = config;
  // Tasks that were admitted and may not be on record yet, by owner: many prompts may arrive at the same moment.
  const making = new Map<string, Set<Promise<unknown>>>();
  const makingOf = (owner: string) => [...(making.get(owner) ?? [])];

  function record<T>(owner: string, task: Promise<T>): Promise<T> {
    const others = making.get(owner) ?? new Set();
    const settled: Promise<unknown> = Promise.allSettled([task]).then(() => {
      others.delete(settled);
      if (others.size === 0) making.delete(owner);
    });
    making.set(owner, others.add(settled));
    return task;
  }

  return {
    async admitBytes(owner, bytes) {
      const stored = await store.storedBytes(owner);
      if (stored + bytes <= most_bytes) return;
      const limit = `${most_bytes} bytes are allowed (STORED_BYTES_PER_PRINCIPAL)`;
      throw new AppError(
        'too_large',
        `You have stored ${stored} bytes, and this is ${bytes} more; ${limit}. Delete something first`,
        {
          code: 'stored_bytes_limit',
        },
      );
    },
    async admitTask(owner, make) {
      for (;;) {
        const before = makingOf(owner);
        const open = await store.openTasks(owner, most_tasks);
        if (open >= most_tasks) throw tasksLimit(most_tasks);
        // A task that was being made meanwhile is counted by the query, or here, or by both; never by neither.
        const uncertain = new Set([...before, ...makingOf(owner)]);
        if (open + uncertain.size < most_tasks) return record(owner, make());
        await Promise.race(uncertain);
      }
    },
  };
}

const tasksLimit = (most: number) =>
  overLimit(
    `You have ${most} tasks that have not ended, as many as RUNNING_TASKS_PER_PRINCIPAL allows; wait for one or halt one`,
    { code: 'running_tasks_limit', retry_after_s: 10 },
  );
