import { AppError, overLimit } from '../domain/errors.ts';
import type { Config } from '../main/config.ts';
import type { QuotaStore } from './quotas.ts';

/** Quotas of stored bytes and unfinished tasks. Both methods throw if a quota would be exceeded. */
export interface Quotas {
  /** Call before storing this many more bytes. */
  admitBytes(owner: string, bytes: number): Promise<void>;
  /** Runs `make`, which creates a task, if the quota allows one more. */
  admitTask<T>(owner: string, make: () => Promise<T>): Promise<T>;
}

export function quotasOf(store: QuotaStore, config: Config): Quotas {
  const { STORED_BYTES_PER_PRINCIPAL: most_bytes, RUNNING_TASKS_PER_PRINCIPAL: most_tasks } = config;
  // Admitted tasks that may not be stored yet, by owner: many prompts may arrive at once.
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
        // A concurrent task is counted by the query, here, or twice; never missed.
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
