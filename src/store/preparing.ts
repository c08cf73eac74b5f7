import { referTo } from './attachments.ts';
import type { Queryable } from './database.ts';
import { markAsEvaluated, seed } from './forks.ts';
import type { NewTask } from './tasks.ts';

type Prepare = (on: Queryable) => Promise<void>;

/** What is written with a task that starts from something, or is given files. */
export function preparing({ task_id, seed: from, evaluated, attachments = [] }: NewTask): Prepare | null {
  if (!from && !evaluated && attachments.length === 0) return null;
  return async (on) => {
    if (attachments.length > 0) await referTo(on, task_id, attachments);
    if (from) await seed(on, task_id, from);
    else if (evaluated) await markAsEvaluated(on, task_id, evaluated);
  };
}

export async function prepared<T>(on: Queryable, { prepare, write }: { prepare: Prepare; write(on: Queryable): Promise<T> }) {
  const created = await write(on);
  if (created) await prepare(on);
  return created;
}
