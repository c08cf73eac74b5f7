import type { Client } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
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

/**
 * A worker asks for work at least once a minute, and the engine names it for five minutes after the last time. So one that was lost is
 * counted until another one has asked for work so much later; no clock of this machine is needed.
 */
const BEHIND_MS = 65_000;

/** The installation's queue, and those of the other roles while runs send work there or while some is left that runs sent earlier. */
export async function queueStates(
  client: Client,
  { task_queue, role_queues }: { task_queue: string; role_queues: boolean },
): Promise<QueueState[]> {
  const all = await Promise.all(
    ROLES.map(async (role) => ({ role, ...(await described(client, queueOfRole(task_queue, role))) })),
  );
  const latest = Math.max(...all.flatMap(({ seen }) => [...seen.values()]));
  return all
    .filter(({ role, waiting }) => role === 'runs' || role_queues || waiting > 0)
    .map(({ name, role, seen }) => ({ name, role, workers: [...seen.values()].filter((at) => at > latest - BEHIND_MS).length }));
}

/** When each worker of a queue has last asked for work, and how many activities wait there. */
async function described({ workflowService, options: { namespace } }: Client, name: string) {
  const asked = { namespace, taskQueue: { name }, taskQueueType: ACTIVITIES, reportStats: true };
  const { pollers, stats } = await workflowService.describeTaskQueue(asked);
  const seen = new Map((pollers ?? []).map(({ identity, lastAccessTime }) => [identity, optionalTsToMs(lastAccessTime) ?? 0]));
  return { name, seen, waiting: Number(stats?.approximateBacklogCount ?? 0) };
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
