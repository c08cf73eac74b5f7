import type { Client } from '@temporalio/client';
import { optionalTsToMs } from '../../vendor/temporal-internals.ts';
import { queueOfRole, ROLES, type Role } from '../names.ts';

/** A task queue that runs need. */
export interface QueueState {
  name: string;
  role: Role;
  /** The number of workers that take work from it. */
  workers: number;
}

/** The waiting work in one half of a task queue. */
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
 * The age after which a worker's last request for work no longer counts. A worker asks at least once a minute, and the engine
 * lists it for five minutes after its last request. Ages are relative to the latest request of any worker, so no clock of this
 * machine is needed: a lost worker counts until another one has asked that much later.
 */
const BEHIND_MS = 65_000;

/**
 * Returns the installation's queue, and the queues of the other roles if runs send work there or work that runs sent earlier is
 * left.
 */
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

/**
 * Returns the work that waits for workers: both halves of the installation's queue, and the activities of the other roles' queues
 * if runs send work there.
 */
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

/** Returns when each worker of a queue last asked for work, and the work that waits there. */
async function describeQueue({ workflowService, options: { namespace } }: Client, name: string, kind: QueueKind) {
  const request = { namespace, taskQueue: { name }, taskQueueType: KINDS[kind], reportStats: true };
  const { pollers, stats } = await workflowService.describeTaskQueue(request);
  const seen: Seen = new Map(pollers!.map(({ identity, lastAccessTime }) => [identity, optionalTsToMs(lastAccessTime)!]));
  const waiting = Number(stats?.approximateBacklogCount ?? 0);
  return { name, seen, waiting, oldest_seconds: (optionalTsToMs(stats?.approximateBacklogAge) ?? 0) / 1_000 };
}

/** Returns the reason why runs wait, which names the queues without a worker; null if each has one. */
export function describeUnserved(queues: readonly QueueState[]): string | null {
  const unserved = queues.filter(({ workers }) => workers === 0);
  if (unserved.length === 0) return null;
  const names = unserved.map(({ name }) => name).join(', ');
  // Without queues of the roles, the missing worker is one without a role.
  const commands = queues.length === 1 ? ['perdura worker'] : unserved.map(({ role }) => `perdura worker --role ${role}`);
  return `None takes work from ${names}: runs wait until one is started (${commands.join(', ')})`;
}

/** Describes how many workers serve each queue. */
export const describeServed = (queues: readonly QueueState[]): string =>
  queues.map(({ name, workers }) => `${workers} ${workers === 1 ? 'takes' : 'take'} work from ${name}`).join(', ');
