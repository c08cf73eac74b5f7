import { useEffect, useRef } from 'react';
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
  const { fetchNextPage, hasNextPage, isFetching, isFetchingNextPage } = query;
  const all: readonly Task[] = query.items ?? [];
  const head = useKnownHead(all, head_task_id);
  const branch = listBranch(all, head);
  // Newer turns of other branches may fill the first pages.
  const misses_head = head !== head_task_id && hasNextPage && !isFetching;
  useEffect(() => {
    if (misses_head) void fetchNextPage();
  }, [misses_head, fetchNextPage]);
  const turns: Turns = {
    all,
    branch,
    has_earlier: hasNextPage && (branch[0]?.previous_task_id ?? null) !== null,
    loading: isFetchingNextPage,
    readEarlier: () => void fetchNextPage(),
  };
  return { query, turns };
}

/**
 * Returns the head of a thread, or the one before until the turns that have been read include it: the thread is often read
 * before its new turn is.
 */
function useKnownHead(all: readonly Task[], head_task_id: string | null): string | null {
  const known = useRef<string | null>(null);
  if (head_task_id === null || all.some(({ id }) => id === head_task_id)) known.current = head_task_id;
  return known.current;
}
