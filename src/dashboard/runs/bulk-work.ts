import { type Task, tasks } from '../../contracts/tasks.ts';
import { workflows } from '../../contracts/workflows.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Client } from '../api/call.ts';
import { toPromptBody } from './resent.ts';

/** An action on several runs at once. */
export interface BulkAction {
  label: string;
  /** The text in the row of each run on which the action succeeded. */
  done: string;
  takes(task: Pick<Task, 'status'>): boolean;
  /** Acts on one run. A repetition of the same act has the same `key`. */
  act(client: Client, task: Task, key: string): Promise<unknown>;
}

export const BULK_ACTIONS: BulkAction[] = [
  {
    label: 'Halt',
    done: 'halt requested',
    takes: ({ status }) => !isTerminal(status),
    act: ({ call }, { id }) => call(tasks.stop, { params: { id } }),
  },
  {
    label: 'Retry',
    done: 'sent again',
    takes: ({ status }) => isTerminal(status),
    act: ({ call }, task, idempotency_key) =>
      call(workflows.prompt, {
        params: { id: task.workflow_id },
        body: { ...toPromptBody(task), on_busy: 'enqueue' },
        idempotency_key,
      }),
  },
  {
    label: 'Approve',
    done: 'approved',
    takes: ({ status }) => status === 'waiting',
    act: approveAll,
  },
];

const NOTHING_TO_APPROVE = 'It waits for something other than an approval: open the run';

/** Approves every call of a run that waits for an approval. */
async function approveAll({ call }: Client, { id }: Task): Promise<void> {
  const steps = await call(tasks.steps, { params: { id } });
  const waiting = steps.flatMap(({ tool_calls }) => tool_calls).filter(({ status }) => status === 'waiting_approval');
  if (waiting.length === 0) throw new Error(NOTHING_TO_APPROVE);
  for (const { call_id } of waiting) await call(tasks.approve, { params: { id, call_id }, body: { decision: 'approve' } });
}

/** Does work on each item, on a limited number at a time. It never fails: `settled` receives each item's error, or null. */
export async function forEachConcurrent<T>(
  items: readonly T[],
  {
    at_a_time,
    work,
    onSettled: settled,
  }: { at_a_time: number; work(item: T): Promise<unknown>; onSettled(item: T, error: Error | null): void },
): Promise<void> {
  const waiting = [...items];
  const line = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      const current = item;
      await work(current).then(
        () => settled(current, null),
        (error: Error) => settled(current, error),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(at_a_time, items.length) }, line));
}
