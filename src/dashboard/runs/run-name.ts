import type { Task } from '../../contracts/tasks.ts';

/** Returns the end of a run's id. Ids begin with their time, so the beginnings of neighbours are the same. */
export const shortId = (id: string) => `#${id.slice(-4)}`;

/** Names a run so that the tabs of a browser can be told apart: `Refund desk · #a31f`. */
export const nameRun = ({ id, workflow_title, agent_name }: Pick<Task, 'id' | 'workflow_title' | 'agent_name'>) =>
  `${workflow_title ?? agent_name} · ${shortId(id)}`;
