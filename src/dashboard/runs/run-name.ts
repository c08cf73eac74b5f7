import type { Task } from '../../contracts/tasks.ts';

/** Returns the end of a run's id. Ids begin with their time, so the beginnings of neighbours are the same. */
export const shortId = (id: string) => `#${id.slice(-4)}`;

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Isolates a name in Arabic or Hebrew, which would otherwise pull the digits that follow it to its other side. */
const isolate = (name: string) => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name);

/** Names a run so that the tabs of a browser can be told apart: `Refund desk · #a31f`. */
export const nameRun = ({ id, workflow_title, agent_name }: Pick<Task, 'id' | 'workflow_title' | 'agent_name'>) =>
  `${isolate(workflow_title ?? agent_name)} · ${shortId(id)}`;
