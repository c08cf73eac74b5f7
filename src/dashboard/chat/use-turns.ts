import { useEffect } from 'react';
import { type Task, tasks } from '../../contracts/tasks.ts';
import type { Thread } from '../../contracts/threads.ts';
import { useList } from '../api/queries.ts';
import { listBranch } from './branches.ts';

const AT_ONCE = 50;

export interface Turns {
  /** The turns that have been read, of all branches. */
  all: readonly Task[];
  /** The turns of the branch in use, oldest first. */
  branch: readonly Task[];
  has_earlier: boolean;
  loading: boolean;
  readEarlier(): void;
}

/** Reads the newest turns of a thread, and earlier ones on request. */
export function useTurns({ id, head_task_id }: Pick<Thread, 'id' | 'head_task_id'>) {
  const query = useList(tasks.list, { thread_id: id, limit: AT_ONCE });
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const all: readonly Task[] = query.items ?? [];
  const branch = listBranch(all, head_task_id);
  // Newer turns of other branches may fill the first pages.
  const misses_head = branch.length === 0 && head_task_id !== null && hasNextPage;
  useEffect(() => {
    if (misses_head && !isFetchingNextPage) void fetchNextPage();
  }, [misses_head, isFetchingNextPage, fetchNextPage]);
  const turns: Turns = {
    all,
    branch,
    has_earlier: hasNextPage && (branch[0]?.previous_task_id ?? null) !== null,
    loading: isFetchingNextPage,
    readEarlier: () => void fetchNextPage(),
  };
  return { query, turns };
}
