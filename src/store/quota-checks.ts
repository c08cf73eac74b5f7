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
  // Tasks that were let in and are not on record yet: many may ask at the same moment.
  const making = new Map<string, number>();
  const change = (owner: string, by: number) => {
    const count = (making.get(owner) ?? 0) + by;
    if (count > 0) making.set(owner, count);
    else making.delete(owner);
    return count;
  };
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
      const others = change(owner, 1) - 1;
      try {
        if ((await store.openTasks(owner, most_tasks)) + others >= most_tasks) {
          const limit = `as many as RUNNING_TASKS_PER_PRINCIPAL allows`;
          throw overLimit(`You have ${most_tasks} tasks that have not ended, ${limit}; wait for one or halt one`, {
            code: 'running_tasks_limit',
            retry_after_s: 10,
          });
        }
        return await make();
      } finally {
        change(owner, -1);
      }
    },
  };
}
