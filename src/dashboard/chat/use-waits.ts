import { tasks } from '../../contracts/tasks.ts';
import { useList } from '../api/queries.ts';

const NEWEST = 100;

/** Returns true if a run waits for a person. All callers share one request. */
export function useWaits(task_id: string | null): boolean {
  const { items = [] } = useList(tasks.list, { status: 'waiting', limit: NEWEST });
  return items.some(({ id }) => id === task_id);
}
