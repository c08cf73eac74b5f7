import { type Client, isGrpcServiceError, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { AppError } from '../domain/errors.ts';
import { type RunInput, runIdOf, SEARCH_ATTRIBUTES } from './names.ts';
import type { agentRun } from './workflows/agent-run.ts';

/** By what an operator finds a run in the Temporal UI. */
export interface RunLabels {
  owner: string;
  agent: string;
  workflow: string;
  workflow_id: string;
  model: string | null;
}

/** All that the rest of the service knows of Temporal. */
export interface Engine {
  /** Starts a task's run; starting it twice is starting it once. */
  start(run: RunInput, labels: RunLabels): Promise<void>;
  /** Asks a run to end. False when the engine knows of none. */
  halt(task_id: string): Promise<boolean>;
  /** Tells a run that a person has decided about a call. False when the engine knows of no such run. */
  decide(task_id: string, call_id: string): Promise<boolean>;
  /** Lets a queued run proceed. */
  proceed(task_id: string): Promise<boolean>;
  /** Whether the engine has an open execution for a task. */
  isOpen(task_id: string): Promise<boolean>;
  /** Throws when the engine is out of reach. */
  ping(): Promise<void>;
  /** The run in the Temporal UI; null when no UI is configured. */
  runUrl(task_id: string): string | null;
}

interface EngineOptions {
  client: Client;
  task_queue: string;
  ui_url: string | null;
  /** The client shares its connection with a worker of this process, which then takes the first step without a round trip. */
  eager: boolean;
}

const DEADLINE_MS = 5_000;
const OPEN = 'RUNNING';
/** gRPC: cancelled, deadline exceeded, resource exhausted, unavailable. */
const OUT_OF_REACH = [1, 4, 8, 14];

const keys = Object.fromEntries(
  SEARCH_ATTRIBUTES.map((name) => [name, defineSearchAttributeKey(name, SearchAttributeType.KEYWORD)]),
);

export function createEngine({ client, task_queue, ui_url, eager }: EngineOptions): Engine {
  const soon = <T>(work: () => Promise<T>) => reached(client.withDeadline(Date.now() + DEADLINE_MS, work));
  const handle = (task_id: string) => client.workflow.getHandle(runIdOf(task_id));
  return {
    async start(run, labels) {
      const options = {
        workflowId: runIdOf(run.task_id),
        taskQueue: task_queue,
        args: [run] as [RunInput],
        workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
        staticSummary: `${labels.workflow} · ${labels.agent}`,
        staticDetails: `Task ${run.task_id} of ${labels.owner}`,
        typedSearchAttributes: attributesOf(labels),
        requestEagerStart: eager,
      };
      await soon(() => client.workflow.start<typeof agentRun>('agentRun', options)).catch(
        unless(WorkflowExecutionAlreadyStartedError),
      );
    },
    halt: (task_id) => soon(() => known(handle(task_id).cancel())),
    decide: (task_id, call_id) => soon(() => known(handle(task_id).signal('decide', call_id))),
    proceed: (task_id) => soon(() => known(handle(task_id).signal('proceed'))),
    async isOpen(task_id) {
      let open = false;
      await soon(() =>
        known(
          handle(task_id)
            .describe()
            .then(({ status }) => {
              open = status.name === OPEN;
            }),
        ),
      );
      return open;
    },
    async ping() {
      await soon(() => client.workflowService.getSystemInfo({}));
    },
    runUrl: (task_id) => ui_url && `${ui_url}/namespaces/${client.options.namespace}/workflows/${runIdOf(task_id)}`,
  };
}

function attributesOf({ owner, agent, workflow, workflow_id, model }: RunLabels): TypedSearchAttributes {
  const values = {
    PerduraOwner: owner,
    PerduraAgent: agent,
    PerduraWorkflow: workflow,
    PerduraWorkflowId: workflow_id,
    PerduraModel: model,
    PerduraStatus: 'running',
  };
  return new TypedSearchAttributes(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [{ key: keys[name]!, value }])) as never,
  );
}

/** False instead of the error that says that there is no such execution. */
async function known(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

const unless = (expected: new (...args: never[]) => Error) => (error: unknown) => {
  if (!(error instanceof expected)) throw error;
};

/** An engine out of reach is a 503, whatever the client calls it. */
async function reached<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const inner = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
    if (isGrpcServiceError(inner) && OUT_OF_REACH.includes(inner.code)) {
      throw new AppError('unavailable', 'The workflow engine cannot be reached now; nothing was started, try again shortly', {
        code: 'engine_unavailable',
      });
    }
    throw error;
  }
}
