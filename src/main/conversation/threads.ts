import type { PerduraClient, Thread } from '../../client/index.ts';
import { loadItems } from '../remote/list.ts';
import { type Given, usageError } from '../remote/options.ts';
import { agentNamed, workflowNamed } from '../remote/place.ts';
import { cut, formatTime, sayTable } from '../remote/table.ts';

const SHOWN_THREADS = 20;
const TITLE_CHARACTERS = 80;

/** Whose settings the turns of a thread take. */
export type Home = { agent_id: string } | { workflow_id: string };

/** The thread that a conversation continues, or the home of the one that its first message begins. */
export type Choice = { thread: Thread } | { home: Home };

export const listThreads = (client: PerduraClient): Promise<Thread[]> =>
  loadItems<Thread>(client, 'GET /api/threads', SHOWN_THREADS);

export function showThreads(threads: Thread[]): void {
  sayTable(
    ['ID', 'CHANGED', 'AGENT', 'TITLE'],
    threads.map(({ id, updated_at, agent_name, title }) => [
      id,
      formatTime(updated_at),
      cut(agent_name, 24),
      cut(title ?? '-', 60),
    ]),
  );
}

/** Finds the thread that a command line names; null if it names none. Throws if it names two. */
export async function chooseThread(client: PerduraClient, given: Given): Promise<Choice | null> {
  const [agent] = given.words;
  const [workflow, thread_id] = [given.text('workflow'), given.text('thread')];
  const named = [agent, workflow, thread_id].filter((name) => name !== undefined);
  if (named.length > 1) throw usageError('chat', 'Name only one: an agent, a workflow or a thread');
  if (thread_id !== undefined) {
    if (given.has('new')) throw usageError('chat', '--new begins a thread, and --thread continues one');
    return { thread: await client.request('GET /api/threads/{id}', { path: { id: thread_id } }) };
  }
  if (agent === undefined && workflow === undefined) {
    if (given.has('new')) throw usageError('chat', 'Name the agent or the workflow with which a thread begins');
    return null;
  }
  const home: Home =
    workflow === undefined
      ? { agent_id: await agentNamed(client, agent!) }
      : { workflow_id: await workflowNamed(client, workflow) };
  if (given.has('new')) return { home };
  const [newest] = await loadItems<Thread>(client, 'GET /api/threads', 1, home);
  return newest ? { thread: newest } : { home };
}

/** Creates a thread that has the beginning of its first message as its title. */
export function beginThread(client: PerduraClient, home: Home, message: string): Promise<Thread> {
  const title = cut(message.replaceAll(/\s+/g, ' ').trim(), TITLE_CHARACTERS);
  return client.request('POST /api/threads', { body: { ...home, title } });
}
