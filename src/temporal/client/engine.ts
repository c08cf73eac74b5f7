import {
  type Client,
  isGrpcServiceError,
  QueryNotRegisteredError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import type { RunWait } from '../../domain/continuity.ts';
import { AppError } from '../../domain/errors.ts';
import { asOutage } from '../../domain/outages.ts';
import type { TimeSpan } from '../../store/runs/tasks.ts';
import type { DueDelivery } from '../../store/runs/webhooks.ts';
import {
  type Asking,
  type RunInput,
  SEARCH_ATTRIBUTES,
  type ShownStatus,
  toDeliveryId,
  toRunId,
  toTaskId,
  type WaitingStatus,
  WORKFLOW_TASK_TIMEOUT,
} from '../names.ts';
import type { agentRun } from '../workflows/agent-run.ts';
import type { webhookDelivery } from '../workflows/webhook-delivery.ts';
import { engineOutage } from './engine-outages.ts';
import { runPriority, toOwnerPriority } from './priority.ts';
import { type QueueBacklog, type QueueState, queueBacklogs, queueStates } from './queues.ts';
import type { RunLabels } from './run-labels.ts';
import { attributeValues, runTexts } from './run-labels.ts';

/** `waiting`: the execution is running, and parked until it is notified: for its lane, a decision or a budget. */
type ExecutionState = 'open' | 'waiting' | 'closed' | 'unknown';

/**
 * The present state of an execution. `place` changes with everything that the execution does or receives; null if it is not
 * running.
 */
export interface Execution {
  state: ExecutionState;
  run_id: string | null;
  place: string | null;
}

/** The only interface to Temporal for the rest of the service. */
export interface Engine {
  /** Starts a task's run. Returns false and does nothing if the engine has had a run for the task, even one that has ended. */
  start(run: RunInput, labels: RunLabels): Promise<boolean>;
  /** Starts a run again from the record, if none is running. */
  restart(run: RunInput, labels: RunLabels): Promise<void>;
  /** Asks a run to end. Returns false if the engine has none. */
  halt(task_id: string): Promise<boolean>;
  /** Notifies a run that a person has decided about a call. Returns false if the engine has no such run. */
  decide(task_id: string, call_id: string): Promise<boolean>;
  /**
   * Shows that a call in progress waits for a person's answer, or no longer does. Returns false if the engine has no such run.
   */
  asking(task_id: string, question: Asking): Promise<boolean>;
  /** Lets a queued run proceed. */
  proceed(task_id: string): Promise<boolean>;
  /** Notifies a run that waits for its budget that the budget was raised. */
  raise(task_id: string): Promise<boolean>;
  /** Starts the delivery of a webhook message; `restart` ends one that is in progress. */
  deliver(delivery: DueDelivery, options?: { restart?: boolean }): Promise<void>;
  /** Returns the state of a task's execution. */
  state(task_id: string): Promise<ExecutionState>;
  /** Returns the state of a task's execution and its position. */
  execution(task_id: string): Promise<Execution>;
  /**
   * Returns everything a run waits for. A worker computes the answer; null if no worker can: none is running, or its code is
   * older.
   */
  waits(task_id: string): Promise<RunWait[] | null>;
  /** Lists the ids of tasks whose executions are running and were not started within this time. The engine's index may lag. */
  openRuns(grace_span: TimeSpan): AsyncIterable<string>;
  /** Returns the latest execution of a task if it ended by itself; null if it runs, was ended from outside, or does not exist. */
  findOwnEnd(task_id: string): Promise<string | null>;
  /** Ends an execution whose task no longer exists, or which another one replaces; `run_id` names one of several. */
  terminate(task_id: string, reason: string, run_id?: string): Promise<boolean>;
  /** Returns the task queues that runs need. */
  queues(): Promise<QueueState[]>;
  /** Returns the work waiting in each task queue. */
  backlogs(): Promise<QueueBacklog[]>;
  /** Throws if the engine is unreachable. */
  ping(): Promise<void>;
  /** Returns the address of the run in the Temporal UI; null if no UI is configured. */
  runUrl(task_id: string): string | null;
}

interface EngineOptions {
  client: Client;
  task_queue: string;
  /** True if runs that start now send model and tool calls to separate queues. */
  role_queues: boolean;
  ui_url: string | null;
  /** Returns the service's public address, for links to its dashboard; null: not known, or not yet. */
  public_url(): string | null;
  /**
   * True if the client shares its connection with a worker of this process, which can then start the first step without a round
   * trip.
   */
  eager: boolean;
}

const DEADLINE_MS = 5_000;
/** The deadline for an answer that a worker computes: the worker may have to replay the run. */
const ANSWER_MS = 5_000;
const OPEN = 'RUNNING';
const WAITING: readonly WaitingStatus[] = ['pending', 'waiting'];
/** The statuses of an execution that ended by its own code, which had recorded the end of its task before. */
const BY_ITSELF = ['COMPLETED', 'FAILED', 'CANCELLED'];

const keys = Object.fromEntries(
  SEARCH_ATTRIBUTES.map((name) => [name, defineSearchAttributeKey(name, SearchAttributeType.KEYWORD)]),
);

/** Makes a call to the engine with a deadline; an unreachable engine is reported as `unavailable`. */
export const withCallDeadline =
  (client: Client) =>
  <T>(work: () => Promise<T>): Promise<T> =>
    translateOutage(client.withDeadline(Date.now() + DEADLINE_MS, work));

export function createEngine({ client, task_queue, role_queues, ui_url, public_url, eager }: EngineOptions): Engine {
  const soon = withCallDeadline(client);
  const handle = (task_id: string, run_id?: string) => client.workflow.getHandle(toRunId(task_id), run_id);
  async function execution(task_id: string): Promise<Execution> {
    try {
      const { status, runId: run_id, historyLength, typedSearchAttributes } = await soon(() => handle(task_id).describe());
      if (status.name !== OPEN) return { state: 'closed', run_id, place: null };
      const shown_status = typedSearchAttributes.get(keys.PerduraStatus!) as ShownStatus | undefined;
      const state = WAITING.some((waiting) => waiting === shown_status) ? 'waiting' : 'open';
      return { state, run_id, place: `${run_id}/${historyLength}` };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { state: 'unknown', run_id: null, place: null };
      throw error;
    }
  }
  const buildStartOptions = (run: RunInput, labels: RunLabels) => ({
    workflowId: toRunId(run.task_id),
    taskQueue: task_queue,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    args: [role_queues ? { ...run, role_queues } : run] as [RunInput],
    ...runTexts(run, labels, public_url()),
    typedSearchAttributes: toSearchAttributes(labels),
    priority: runPriority(labels),
  });
  return {
    async start(run, labels) {
      const once = {
        ...buildStartOptions(run, labels),
        workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
        requestEagerStart: eager,
      };
      try {
        await soon(() => client.workflow.start<typeof agentRun>('agentRun', once));
        return true;
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
        throw error;
      }
    },
    async restart(run, labels) {
      const again = { ...buildStartOptions(run, labels), workflowIdConflictPolicy: 'USE_EXISTING' as const };
      await soon(() => client.workflow.start<typeof agentRun>('agentRun', again));
    },
    halt: (task_id) => soon(() => catchUnknown(handle(task_id).cancel())),
    decide: (task_id, call_id) => soon(() => catchUnknown(handle(task_id).signal('decide', call_id))),
    asking: (task_id, question) => soon(() => catchUnknown(handle(task_id).signal('asking', question))),
    proceed: (task_id) => soon(() => catchUnknown(handle(task_id).signal('proceed'))),
    raise: (task_id) => soon(() => catchUnknown(handle(task_id).signal('raise'))),
    async deliver({ id, owner }, { restart = false } = {}) {
      const workflowIdConflictPolicy = restart ? ('TERMINATE_EXISTING' as const) : ('USE_EXISTING' as const);
      const options = {
        workflowId: toDeliveryId(id),
        taskQueue: task_queue,
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        workflowIdConflictPolicy,
        priority: toOwnerPriority(owner),
      };
      await soon(() => client.workflow.start<typeof webhookDelivery>('webhookDelivery', { ...options, args: [id] }));
    },
    state: async (task_id) => (await execution(task_id)).state,
    execution,
    async waits(task_id) {
      try {
        return await client.withDeadline(Date.now() + ANSWER_MS, () => handle(task_id).query<RunWait[]>('waits'));
      } catch (error) {
        // The engine does not serve, has no worker for the run, or the run is over.
        if (error instanceof QueryNotRegisteredError || error instanceof WorkflowNotFoundError) return null;
        if (isGrpcServiceError(error) || isGrpcServiceError((error as Error).cause)) return null;
        throw error;
      }
    },
    async *openRuns({ from, to }) {
      const started = `(StartTime < '${from.toISOString()}' OR StartTime > '${to.toISOString()}')`;
      const query = `WorkflowType = 'agentRun' AND ExecutionStatus = 'Running' AND TaskQueue = '${task_queue}' AND ${started}`;
      for await (const { workflowId } of client.workflow.list({ query })) yield toTaskId(workflowId);
    },
    async findOwnEnd(task_id) {
      const { status, runId } = await soon(() => handle(task_id).describe());
      return BY_ITSELF.includes(status.name) ? runId : null;
    },
    terminate: (task_id, reason, run_id) => soon(() => catchUnknown(handle(task_id, run_id).terminate(reason))),
    queues: () => soon(() => queueStates(client, { task_queue, role_queues })),
    backlogs: () => soon(() => queueBacklogs(client, { task_queue, role_queues })),
    async ping() {
      await soon(() => client.workflowService.getSystemInfo({}));
    },
    runUrl: (task_id) => ui_url && `${ui_url}/namespaces/${client.options.namespace}/workflows/${toRunId(task_id)}`,
  };
}

const toSearchAttributes = (labels: RunLabels) =>
  new TypedSearchAttributes(Object.entries(attributeValues(labels)).map(([name, value]) => ({ key: keys[name]!, value })));

/** Returns false instead of throwing for an unknown execution. */
async function catchUnknown(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Converts the failure of an engine that cannot serve now into a 503 with the reason, under any of the client's error names. */
async function translateOutage<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const outage = engineOutage(error);
    if (!outage) throw error;
    const message = `${outage.sentence}; nothing was started, try again shortly`;
    throw asOutage(new AppError('unavailable', message, { code: outage.code, cause: error }), outage);
  }
}
