import type { Task } from '../../contracts/tasks.ts';

type Place = Pick<Task, 'id' | 'previous_task_id'>;

/** Returns the turns of the branch that ends with a turn, oldest first, as far as they have been read. */
export function listBranch<T extends Place>(turns: readonly T[], head_id: string | null): T[] {
  const by_id = new Map(turns.map((turn) => [turn.id, turn]));
  const branch: T[] = [];
  let turn = head_id === null ? undefined : by_id.get(head_id);
  while (turn) {
    branch.push(turn);
    turn = turn.previous_task_id === null ? undefined : by_id.get(turn.previous_task_id);
  }
  return branch.reverse();
}

/** Ids begin with their time. */
const oldestFirst = <T extends Place>(turns: readonly T[]) => turns.toSorted((one, other) => (one.id < other.id ? -1 : 1));

/** Returns the turns that follow the same turn as the given one, which is among them, oldest first. */
export const listVersions = <T extends Place>(turns: readonly T[], { previous_task_id }: Place): T[] =>
  oldestFirst(turns.filter((turn) => turn.previous_task_id === previous_task_id));

/** Returns the last turn of the newest branch that goes through a turn. */
export function findTip(turns: readonly Place[], id: string): string {
  const newest = oldestFirst(turns.filter(({ previous_task_id }) => previous_task_id === id)).at(-1);
  return newest ? findTip(turns, newest.id) : id;
}
