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
  // By owner: callers being served, tasks being made, and how many were admitted.
  const owners = new Map<string, { callers: number; making: Set<Promise<unknown>>; admitted: number }>();

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
      const of = owners.get(owner) ?? { callers: 0, making: new Set(), admitted: 0 };
      owners.set(owner, of);
      of.callers++;
      try {
        for (;;) {
          const [making, admitted] = [of.making.size, of.admitted];
          const open = await store.openTasks(owner, most_tasks);
          if (open >= most_tasks) throw tasksLimit(most_tasks);
          // The query may or may not have seen what was being made, or was admitted, while it ran.
          const uncertain = making + of.admitted - admitted;
          if (open + uncertain < most_tasks) break;
          if (of.making.size > 0) await Promise.race(of.making);
        }
        const made = make();
        const settled: Promise<unknown> = Promise.allSettled([made]).then(() => of.making.delete(settled));
        of.making.add(settled);
        of.admitted++;
        return await made;
      } finally {
        if (--of.callers === 0) owners.delete(owner);
      }
    },
  };
}

const tasksLimit = (most: number) =>
  overLimit(
    `You have ${most} tasks that have not ended, as many as RUNNING_TASKS_PER_PRINCIPAL allows; wait for one or halt one`,
    { code: 'running_tasks_limit', retry_after_s: 10 },
  );
