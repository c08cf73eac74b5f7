import type { PerduraClient, Task } from '../../client/index.ts';
import type { Config } from '../config.ts';
import { JSON_OPTION, parseOptions, usageError } from '../remote/options.ts';
import { remoteClient, workflowNamed } from '../remote/place.ts';
import { note, printable, say, sayJson } from '../terminal.ts';

const TEXT = { type: 'string' } as const;

/** `perdura tasks ls`: lists runs. */
export default async function tasks(config: Config, args: string[]): Promise<void> {
  const options = { ...JSON_OPTION, status: TEXT, workflow: TEXT, limit: TEXT };
  const { values, words } = parseOptions('tasks', args, { options, words: ['verb'] });
  if (words[0] !== 'ls') throw usageError('tasks', `There is no perdura tasks ${words[0]}`);
  const limit = Number(values.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1) throw usageError('tasks', '--limit must be a whole number from 1');
  const client = await remoteClient(config);
  const query = {
    limit: Math.min(limit, 1_000),
    ...(values.status ? { status: values.status } : {}),
    ...(values.workflow ? { workflow_id: await workflowNamed(client, values.workflow) } : {}),
  };
  const matches = await loadTasks(client, query, limit);
  if (values.json) sayJson(matches);
  else for (const task of matches) say(formatRow(task));
  const waiting = matches.find(({ status }) => status === 'waiting');
  if (waiting && !values.json) note(`To see what a run waits for, and what to do: perdura logs ${waiting.id}`);
}

async function loadTasks(client: PerduraClient, query: object, limit: number): Promise<Task[]> {
  const matches: Task[] = [];
  for await (const task of client.items('GET /api/tasks', { query })) if (matches.push(task) === limit) break;
  return matches;
}

const formatRow = ({ id, status, created_at, workflow_title, agent_name, prompt }: Task) =>
  [
    id,
    status.padEnd(9),
    created_at.slice(0, 19).replace('T', ' '),
    cut(workflow_title ?? agent_name, 24).padEnd(24),
    cut(prompt, 60),
  ].join('  ');

const cut = (text: string, most: number) => {
  const line = printable(text.replaceAll(/\s+/g, ' ')).trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};
