import type { Client } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { queueOfRole, ROLES, type Role } from '../names.ts';

/** A task queue that runs need. */
export interface QueueState {
  name: string;
  role: Role;
  /** How many workers take work from it. */
  workers: number;
}

/** What waits in one half of a task queue. */
export interface QueueBacklog {
  queue: string;
  kind: QueueKind;
  waiting: number;
  oldest_seconds: number;
  workers: number;
}

/** The halves of a task queue, by the engine's numbers. */
const KINDS = { workflow: 1, activity: 2 } as const;
type QueueKind = keyof typeof KINDS;

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
    ROLES.map(async (role) => ({ role, ...(await describeQueue(client, queueOfRole(task_queue, role), 'activity')) })),
  );
  const latest = findLatest(all);
  return all
    .filter(({ role, waiting }) => role === 'runs' || role_queues || waiting > 0)
    .map(({ name, role, seen }) => ({ name, role, workers: countWorkers(seen, latest) }));
}

/** What waits for workers: of the installation's queue both halves, of those of the other roles the activities if runs send work there. */
export async function queueBacklogs(
  client: Client,
  { task_queue, role_queues }: { task_queue: string; role_queues: boolean },
): Promise<QueueBacklog[]> {
  const roles = role_queues ? ROLES : (['runs'] as const);
  const halves = [
    { queue: task_queue, kind: 'workflow' as const },
    ...roles.map((role) => ({ queue: queueOfRole(task_queue, role), kind: 'activity' as const })),
  ];
  const all = await Promise.all(
    halves.map(async (half) => ({ ...half, ...(await describeQueue(client, half.queue, half.kind)) })),
  );
  const latest = findLatest(all);
  return all.map(({ queue, kind, seen, waiting, oldest_seconds }) => {
    return { queue, kind, waiting, oldest_seconds, workers: countWorkers(seen, latest) };
  });
}

type Seen = Map<unknown, number>;
const findLatest = (all: readonly { seen: Seen }[]) => Math.max(...all.flatMap(({ seen }) => [...seen.values()]));
const countWorkers = (seen: Seen, latest: number) => [...seen.values()].filter((at) => at > latest - BEHIND_MS).length;

/** When each worker of a queue has last asked for work, and what waits there. */
async function describeQueue({ workflowService, options: { namespace } }: Client, name: string, kind: QueueKind) {
  const request = { namespace, taskQueue: { name }, taskQueueType: KINDS[kind], reportStats: true };
  const { pollers, stats } = await workflowService.describeTaskQueue(request);
  const seen: Seen = new Map(
    (pollers ?? []).map(({ identity, lastAccessTime }) => [identity, optionalTsToMs(lastAccessTime) ?? 0]),
  );
  const waiting = Number(stats?.approximateBacklogCount ?? 0);
  return { name, seen, waiting, oldest_seconds: (optionalTsToMs(stats?.approximateBacklogAge) ?? 0) / 1_000 };
}

/** Why runs wait: the queues that nobody takes work from. Null if each has a worker. */
export function describeUnserved(queues: readonly QueueState[]): string | null {
  const unserved = queues.filter(({ workers }) => workers === 0);
  if (unserved.length === 0) return null;
  const names = unserved.map(({ name }) => name).join(', ');
  // Without queues of the roles, a worker without a role is what is missing.
  const commands = queues.length === 1 ? ['perdura worker'] : unserved.map(({ role }) => `perdura worker --role ${role}`);
  return `None takes work from ${names}: runs wait until one is started (${commands.join(', ')})`;
}

/** How many workers serve each queue. */
export const describeServed = (queues: readonly QueueState[]): string =>
  queues.map(({ name, workers }) => `${workers} take work from ${name}`).join(', ');
