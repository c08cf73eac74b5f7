import { AppError, overLimit } from '../../domain/errors.ts';
import { FULL } from '../runs/tasks.ts';
import type { QuotaStore } from './quotas.ts';

export type AdmitTask = <T>(owner: string, make: (most_open: number) => Promise<T | typeof FULL>) => Promise<T>;

/** Quotas of stored bytes and unfinished tasks. Both methods throw if a quota would be exceeded. */
export interface Quotas {
  /** Call before storing this many more bytes. */
  admitBytes(owner: string, bytes: number): Promise<void>;
  /**
   * Runs `make`, which creates a task if its owner has fewer than the given number of unfinished tasks, and resolves with `full`
   * otherwise. Calls it again if tasks that were being created at the same time may have caused the refusal.
   */
  admitTask: AdmitTask;
}

interface QuotaSettings {
  STORED_BYTES_PER_PRINCIPAL: number;
  RUNNING_TASKS_PER_PRINCIPAL: number;
}

export function createQuotas(store: QuotaStore, config: QuotaSettings): Quotas {
  const { STORED_BYTES_PER_PRINCIPAL: most_bytes, RUNNING_TASKS_PER_PRINCIPAL: most_tasks } = config;
  /** The tasks that are being created, by owner. */
  const making = new Map<string, Set<Promise<unknown>>>();

  function trackTask<T>(owner: string, task: Promise<T>): Promise<T> {
    const all = making.get(owner) ?? new Set();
    making.set(owner, all);
    const ended: Promise<unknown> = Promise.allSettled([task]).then(() => {
      all.delete(ended);
      if (all.size === 0 && making.get(owner) === all) making.delete(owner);
    });
    all.add(ended);
    return task;
  }

  return {
    async admitBytes(owner, bytes) {
      const stored_bytes = await store.storedBytes(owner);
      if (stored_bytes + bytes <= most_bytes) return;
      const limit = `${most_bytes} bytes are allowed (STORED_BYTES_PER_PRINCIPAL)`;
      throw new AppError(
        'too_large',
        `You have stored ${stored_bytes} bytes, and this is ${bytes} more; ${limit}. Delete something first`,
        {
          code: 'stored_bytes_limit',
        },
      );
    },
    async admitTask(owner, make) {
      for (;;) {
        // The count may or may not include the tasks that are being created now.
        const others = [...(making.get(owner) ?? [])];
        const room = most_tasks - others.length;
        const task = room > 0 ? await trackTask(owner, make(room)) : FULL;
        if (task !== FULL) return task;
        if (others.length === 0 || (await store.openTasks(owner, most_tasks)) >= most_tasks) throw tasksLimit(most_tasks);
        await Promise.race(others);
      }
    },
  };
}

const tasksLimit = (most: number) =>
  overLimit(
    `You have ${most} tasks that have not ended, as many as RUNNING_TASKS_PER_PRINCIPAL allows; wait for one or halt one`,
    { code: 'running_tasks_limit', retry_after_s: 10 },
  );
