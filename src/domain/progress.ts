import { storable } from './transcript.ts';

export interface TodoItem {
  id: string;
  title: string;
  status: string;
}

const STATUSES = ['not-started', 'in-progress', 'done'];

/** Parses a model's to-do list into its storable form; null if it is not one. `completed` is read as `done`. */
export function parseTodos(value: unknown): TodoItem[] | null {
  if (!Array.isArray(value)) return null;
  const todos: TodoItem[] = [];
  for (const [index, item] of value.entries()) {
    const { id = index + 1, title, status = 'not-started' } = (item ?? {}) as Record<string, unknown>;
    const read = status === 'completed' ? 'done' : status;
    if (typeof title !== 'string' || !STATUSES.includes(read as string)) return null;
    todos.push({ id: storable(String(id)), title: storable(title), status: read as string });
  }
  return todos;
}

export function toProgress(todos: TodoItem[]) {
  const done = todos.filter(({ status }) => status === 'done').length;
  return {
    todos,
    current_step: todos.find(({ status }) => status === 'in-progress')?.title ?? '',
    percent_complete: todos.length === 0 ? 0 : Math.round((done / todos.length) * 100),
  };
}
