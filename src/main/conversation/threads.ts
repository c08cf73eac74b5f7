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
      cut(agent_name ?? '-', 24),
      cut(title ?? '-', 60),
    ]),
  );
}

/** What a command line names: at most one of the three. */
export interface Names {
  agent: string | undefined;
  workflow: string | undefined;
  thread: string | undefined;
  is_new: boolean;
}

/** Reads what a command line names; throws a UsageError if that is more than one thing, or too little. */
export function readNames(given: Given): Names {
  const [agent] = given.words;
  const [workflow, thread, is_new] = [given.text('workflow'), given.text('thread'), given.has('new')];
  const named = [agent, workflow, thread].filter((name) => name !== undefined);
  if (named.length > 1) throw usageError('chat', 'Name only one: an agent, a workflow or a thread');
  if (is_new && thread !== undefined) throw usageError('chat', '--new begins a thread, and --thread continues one');
  if (is_new && named.length === 0) throw usageError('chat', 'Name the agent or the workflow with which a thread begins');
  return { agent, workflow, thread, is_new };
}

/** Finds the thread that is named, or the newest one with what is named; null if nothing is. */
export async function chooseThread(client: PerduraClient, { agent, workflow, thread, is_new }: Names): Promise<Choice | null> {
  if (thread !== undefined) return { thread: await client.request('GET /api/threads/{id}', { path: { id: thread } }) };
  const home: Home | null =
    agent !== undefined
      ? { agent_id: await agentNamed(client, agent) }
      : workflow !== undefined
        ? { workflow_id: await workflowNamed(client, workflow) }
        : null;
  if (home === null) return null;
  const [newest] = is_new ? [] : await loadItems<Thread>(client, 'GET /api/threads', 1, home);
  return newest ? { thread: newest } : { home };
}

/** Creates a thread that has the beginning of its first message as its title. */
export function beginThread(client: PerduraClient, home: Home, message: string): Promise<Thread> {
  const title = cut(message.replaceAll(/\s+/g, ' ').trim(), TITLE_CHARACTERS);
  return client.request('POST /api/threads', { body: { ...home, title } });
}
