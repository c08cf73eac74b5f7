import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { queueOfRole, ROLES, type Role } from './names.ts';

/** A task queue that runs need. */
export interface QueueState {
  name: string;
  role: Role;
  /** How many workers take work from it. */
  workers: number;
}

/** The engine's number for the activity half of a task queue. */
const ACTIVITIES = 2;

/** A worker asks for work at least once a minute. The engine names it for five minutes after the last time. */
const LATELY_MS = 75_000;

/** The installation's queue, and those of the other roles while runs send work there or while some is left that runs sent earlier. */
export async function queueStates(
  client: Client,
  { task_queue, role_queues }: { task_queue: string; role_queues: boolean },
): Promise<QueueState[]> {
  const all = await Promise.all(
    ROLES.map(async (role) => ({
      name: queueOfRole(task_queue, role),
      role,
      ...(await stateOf(client, queueOfRole(task_queue, role))),
    })),
  );
  return all
    .filter(({ role, waiting }) => role === 'runs' || role_queues || waiting > 0)
    .map(({ name, role, workers }) => ({ name, role, workers }));
}

async function stateOf({ workflowService, options: { namespace } }: Client, name: string) {
  const asked = { namespace, taskQueue: { name }, taskQueueType: ACTIVITIES, reportStats: true };
  const { pollers, stats } = await workflowService.describeTaskQueue(asked);
  const since = Date.now() - LATELY_MS;
  const present = (pollers ?? []).filter(({ lastAccessTime }) => lastAccessTime && tsToMs(lastAccessTime) > since);
  const workers = new Set(present.map(({ identity }) => identity)).size;
  return { workers, waiting: Number(stats?.approximateBacklogCount ?? 0) };
}

/** Why runs wait: the queues that nobody takes work from. Null if each has a worker. */
export function unservedSentence(queues: readonly QueueState[]): string | null {
  const unserved = queues.filter(({ workers }) => workers === 0);
  if (unserved.length === 0) return null;
  const names = unserved.map(({ name }) => name).join(', ');
  // Without queues of the roles, a worker without a role is what is missing.
  const commands = queues.length === 1 ? ['perdura worker'] : unserved.map(({ role }) => `perdura worker --role ${role}`);
  return `None takes work from ${names}: runs wait until one is started (${commands.join(', ')})`;
}

/** How many workers serve each queue. */
export const servedSentence = (queues: readonly QueueState[]): string =>
  queues.map(({ name, workers }) => `${workers} take work from ${name}`).join(', ');
