import type { Queryable } from '../database/database.ts';
import { linkAttachments } from './attachments.ts';
import { markAsEvaluated, seedFork } from './forks.ts';
import type { NewTask } from './new-task.ts';

type Prepare = (on: Queryable) => Promise<void>;

/**
 * Returns the write that accompanies a task which starts from another run, or is given files; null if there is none.
 */
export function buildPrepare({ task_id, seed: from, evaluated, attachments = [] }: NewTask): Prepare | null {
  if (!from && !evaluated && attachments.length === 0) return null;
  return async (on) => {
    if (attachments.length > 0) await linkAttachments(on, task_id, attachments);
    if (from) await seedFork(on, task_id, from);
    else if (evaluated) await markAsEvaluated(on, task_id, evaluated);
  };
}

/**
 * The result of creating a task. If `holder` is null, nothing was written: another try of its request has overtaken this one, or its
 * owner has too many tasks.
 */
export type WrittenTask =
  | { holder: string; last: number; is_overtaken: false }
  | { holder: null; last: null; is_overtaken: boolean };

interface Written {
  prepare: Prepare;
  /** Writes the task. Resolves with undefined if the workflow refuses it. */
  write(on: Queryable): Promise<WrittenTask | undefined>;
}

export async function writeAndPrepare(on: Queryable, { prepare, write }: Written): Promise<WrittenTask | undefined> {
  const task = await write(on);
  if (task && task.holder !== null) await prepare(on);
  return task;
}
