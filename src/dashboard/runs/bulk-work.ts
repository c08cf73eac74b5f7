import { type InboxItem, inbox } from '../../contracts/inbox.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { workflows } from '../../contracts/workflows.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Client } from '../api/call.ts';
import { toPromptBody } from './resent.ts';

/** One thing that an action on several runs does, as a person is shown it before. */
export interface BulkLine {
  id: string;
  task_id: string;
  /** The workflow or agent of the run. */
  title: string;
  prompt: string;
  since: string;
  /** The call that is decided; null: the action is on the run. */
  call: Pick<InboxItem, 'tool' | 'arguments' | 'arguments_cut'> | null;
  /** Does it. A repetition has the same `key`. */
  act(key: string): Promise<unknown>;
}

/** An action on several runs at once. */
export interface BulkAction {
  label: string;
  /** The question above what is going to be done. */
  question: string;
  /** The text at each line on which the action succeeded. */
  done: string;
  /** The sentence if the chosen runs leave nothing to do. */
  nothing: string;
  is_danger?: boolean;
  takes(task: Pick<Task, 'status'>): boolean;
  listLines(client: Client, chosen: readonly Task[]): Promise<BulkLine[]>;
}

export const APPROVE: BulkAction = {
  label: 'Approve',
  question: 'Approve these calls?',
  done: 'approved',
  nothing: 'None of these runs waits for an approval.',
  takes: ({ status }) => status === 'waiting',
  async listLines(client, chosen) {
    const query = { kind: 'approval' } as const;
    const pages = await Promise.all(chosen.map(({ id }) => client.call(inbox.list, { query: { ...query, task_id: id } })));
    return listApprovals(
      client,
      pages.flatMap(({ items }) => items),
    );
  },
};

export const BULK_ACTIONS: BulkAction[] = [
  {
    label: 'Halt',
    question: 'Halt these runs?',
    done: 'halt requested',
    nothing: 'None of these runs is in progress.',
    is_danger: true,
    takes: ({ status }) => !isTerminal(status),
    listLines: listRuns(({ call }, { id }) => call(tasks.stop, { params: { id } })),
  },
  {
    label: 'Retry',
    question: 'Send these prompts again?',
    done: 'sent again',
    nothing: 'None of these runs has ended.',
    takes: ({ status }) => isTerminal(status),
    listLines: listRuns(({ call }, task, idempotency_key) =>
      call(workflows.prompt, {
        params: { id: task.workflow_id },
        body: { ...toPromptBody(task), on_busy: 'enqueue' },
        idempotency_key,
      }),
    ),
  },
  APPROVE,
];

function listRuns(act: (client: Client, task: Task, key: string) => Promise<unknown>): BulkAction['listLines'] {
  return async (client, chosen) =>
    chosen.map((task) => ({
      id: task.id,
      task_id: task.id,
      title: task.workflow_title ?? task.agent_name,
      prompt: task.prompt,
      since: task.created_at,
      call: null,
      act: (key) => act(client, task, key),
    }));
}

/** Each approves one call, whatever else its run waits for at that moment. */
export const listApprovals = ({ call }: Client, items: readonly InboxItem[]): BulkLine[] =>
  items.map((item) => ({
    id: item.id,
    task_id: item.task_id,
    title: item.workflow_title ?? item.agent_name,
    prompt: item.prompt,
    since: item.waiting_since,
    call: item,
    act: () => call(tasks.approve, { params: { id: item.task_id, call_id: item.call_id! }, body: { decision: 'approve' } }),
  }));

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
