import { setTimeout as wait } from 'node:timers/promises';
import {
  type Client,
  type Connection,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
} from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { findOutage } from '../../domain/outages.ts';
import { msToTs } from '../../vendor/temporal-internals.ts';
import { reconcilerScheduleId, SEARCH_ATTRIBUTES, WORKFLOW_TASK_TIMEOUT } from '../names.ts';
import type { EpochKeeper } from '../repair/epoch.ts';
import type { reconcileTasks } from '../workflows/reconcile.ts';

interface HousekeepingOptions {
  client: Client;
  task_queue: string;
  /** Seconds between two comparisons of tasks with the engine. */
  every_seconds: number;
  /** The number of days for which a namespace created here keeps the history of a run that has ended. */
  retention_days: number;
}

/**
 * The interval at which a worker checks if the engine still has its parts: nothing that lives in the engine survives its loss.
 */
const LOOK_MS = 10_000;
const DEADLINE_MS = 5_000;
const DAY_MS = 24 * 3_600_000;
/** The gRPC status of something that does not exist. */
const NOT_FOUND = 5;

/**
 * Prepares the engine for a worker: the namespace, the attributes that runs are found by, and the schedule that compares tasks and
 * schedules on record with the engine's.
 */
export async function prepareEngine(options: HousekeepingOptions): Promise<void> {
  await registerNamespace(options);
  await registerSearchAttributes(options.client);
  await keepReconciling(options);
  // This worker may be the first one after a crash.
  await options.client.schedule.getHandle(reconcilerScheduleId(options.task_queue)).trigger();
}

interface Keeping extends HousekeepingOptions {
  look_ms?: number;
  log(message: string): void;
  epoch: Pick<EpochKeeper, 'beat'>;
}

/**
 * Prepares the engine again whenever it lacks a part, as it does if it was restored or emptied while its workers run. Also checks
 * if the record was restored.
 */
export function keepPrepared({ log, epoch, look_ms = LOOK_MS, ...options }: Keeping): { stop(): Promise<void> } {
  const { client, task_queue } = options;
  const stopping = new AbortController();
  async function recreateMissingParts(): Promise<void> {
    // An engine that cannot be reached is checked again later; readiness reports it.
    const missing = await missingParts(client, task_queue).catch(() => []);
    if (missing.length === 0 || stopping.signal.aborted) return;
    log(`The workflow engine has lost ${missing.join(', ')}: creating it again, and comparing all tasks and schedules`);
    await client.withDeadline(Date.now() + DEADLINE_MS, () => prepareEngine(options)).catch((error: Error) => log(error.message));
  }
  async function lookForRestore(): Promise<void> {
    try {
      // Parked runs do not check their record by themselves.
      if (await epoch.beat()) await client.schedule.getHandle(reconcilerScheduleId(task_queue)).trigger();
    } catch (error) {
      // A database that cannot be reached is checked again later.
      if (!findOutage(error)) log(`Looking for a restore failed: ${(error as Error).message}`);
    }
  }
  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      await wait(look_ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
      await recreateMissingParts();
      await lookForRestore();
    }
  }
  const loop = keep();
  return {
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}

/** Lists the parts that workers put into the engine and that it lacks. */
export const missingParts = (client: Client, task_queue: string): Promise<string[]> =>
  client.withDeadline(Date.now() + DEADLINE_MS, async () => {
    if (!(await hasNamespace(client))) return [`the namespace ${client.options.namespace}`];
    const [attributes, scheduled] = await Promise.all([missingAttributes(client), hasSchedule(client, task_queue)]);
    const parts = attributes.map((name) => `the search attribute ${name}`);
    return scheduled ? parts : [...parts, `the schedule ${reconcilerScheduleId(task_queue)}`];
  });

/** The time from a namespace's registration until every part of the engine knows it. */
const NAMESPACE_KNOWN_MS = 30_000;
const NAMESPACE_PAUSE_MS = 500;

/** Registers the namespace and the attributes that runs are found by, if they are missing. Returns what it has registered. */
export async function prepareNamespace({
  client,
  retention_days,
}: Pick<HousekeepingOptions, 'client' | 'retention_days'>): Promise<string[]> {
  const is_new = !(await hasNamespace(client));
  if (is_new) await registerNamespace({ client, retention_days });
  const missing = await onceKnown(() => missingAttributes(client));
  await onceKnown(() => registerSearchAttributes(client));
  const attributes = missing.map((name) => `the search attribute ${name}`);
  return is_new ? [`the namespace ${client.options.namespace}`, ...attributes] : attributes;
}

/** Repeats the work while some part of the engine does not know a new namespace yet. */
async function onceKnown<T>(work: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + NAMESPACE_KNOWN_MS; ; await wait(NAMESPACE_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isGrpcServiceError(error) || error.code !== NOT_FOUND || performance.now() > until) throw error;
    }
  }
}

async function hasNamespace({ workflowService, options: { namespace } }: Client): Promise<boolean> {
  try {
    await workflowService.describeNamespace({ namespace });
    return true;
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === NOT_FOUND) return false;
    throw error;
  }
}

async function hasSchedule(client: Client, task_queue: string): Promise<boolean> {
  try {
    await client.schedule.getHandle(reconcilerScheduleId(task_queue)).describe();
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}

async function registerNamespace({
  client,
  retention_days,
}: Pick<HousekeepingOptions, 'client' | 'retention_days'>): Promise<void> {
  if (await hasNamespace(client)) return;
  const { namespace } = client.options;
  await client.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs(retention_days * DAY_MS),
  });
}

/** The engine's number for the type of an attribute that is compared as a whole. */
const KEYWORD = 2;

const getOperatorService = ({ connection }: Client) => (connection as Connection | NativeConnection).operatorService;

/** Lists the search attributes of runs that the namespace lacks. */
export async function missingAttributes(client: Client): Promise<string[]> {
  const { customAttributes } = await getOperatorService(client).listSearchAttributes({ namespace: client.options.namespace });
  return SEARCH_ATTRIBUTES.filter((name) => !(name in customAttributes));
}

/** Adds the missing search attributes. If the account may not add them, the engine's operator has to. */
async function registerSearchAttributes(client: Client): Promise<void> {
  const missing = await missingAttributes(client);
  if (missing.length === 0) return;
  await getOperatorService(client).addSearchAttributes({
    namespace: client.options.namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
  });
}

/** Creates the reconciler's schedule. Only the first worker creates it; later ones update its interval. */
async function keepReconciling({ client, task_queue, every_seconds }: HousekeepingOptions): Promise<void> {
  const spec = { intervals: [{ every: every_seconds * 1000 }] };
  const action = {
    type: 'startWorkflow' as const,
    workflowType: 'reconcileTasks' as const,
    workflowId: reconcilerScheduleId(task_queue),
    taskQueue: task_queue,
    args: [] as [],
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    workflowExecutionTimeout: '15 minutes' as const,
  };
  const policies = { overlap: 'SKIP' as const, catchupWindow: '1 minute' as const };
  try {
    await client.schedule.create<typeof reconcileTasks>({ scheduleId: reconcilerScheduleId(task_queue), spec, action, policies });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const schedule = client.schedule.getHandle(reconcilerScheduleId(task_queue));
    const { spec: current_spec } = await schedule.describe();
    if (current_spec.intervals?.[0]?.every === every_seconds * 1000) return;
    await schedule.update<typeof reconcileTasks>(({ state }) => ({ spec, action, policies, state }));
  }
}
