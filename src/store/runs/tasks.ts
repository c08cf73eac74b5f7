import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import type { BudgetLimits } from '../../domain/budget.ts';
import type { ContinuityDecision, PlaceOnRecord } from '../../domain/continuity.ts';
import { keyBusy } from '../../domain/errors.ts';
import type { TodoItem } from '../../domain/progress.ts';
import { TERMINAL_STATUSES } from '../../domain/statuses.ts';
import { toThreadTitle } from '../../domain/thread.ts';
import { storable } from '../../domain/transcript.ts';
import { isUuid } from '../../domain/uuid.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import { inTransaction, type Queryable, row, rows } from '../database/database.ts';
import { hashDefinition, withDefinition } from '../resources/definitions.ts';
import type { KeyRing, Sealed } from '../secrets/key-ring.ts';
import type { NewTask } from './new-task.ts';
import { setTaskBudget } from './pauses.sql.ts';
import { buildPrepare, type WrittenTask, writeAndPrepare } from './preparing.ts';
import type { Publish } from './settlement.ts';
import { errorGroups, listTasks, type TaskFilter, type TaskListQuery } from './task-lists.ts';
import * as sql from './tasks.sql.ts';
import { toWireTask } from './wired-task.ts';

export interface CreatedTask {
  task_id: string;
  created_at: string;
  /** The task that holds the lane: this one, or the one it waits for. */
  holder: string;
}

/** The result when nothing was written, because the owner has as many tasks that have not ended as allowed. */
export const FULL = 'full';

/** Returns the seal context that ties an access token to its task. */
export const callerContext = (task_id: string) => `caller-token:${task_id}`;

/** A caller's access token as it is stored with a task. */
interface SealedCaller {
  caller_token: Uint8Array | null;
  caller_key_id: string | null;
}

/** The facts that decide which secrets a run may see. */
export interface RunOfSecrets extends SealedCaller {
  owner: string;
  definition_hash: string;
}

export interface UnfinishedTask extends PlaceOnRecord {
  task_id: string;
  workflow_id: string;
  /** The owner's login. */
  owner: string;
  /** The owner's id. */
  principal: string;
  trigger: string;
  agent: string;
  model: string | null;
  status: string;
  on_busy: string;
  turns: number;
  workflow: string;
  definition_hash: string;
  /** The task that holds the lane. */
  holder: string | null;
  /** The task's calls that have a decision and still wait. */
  decided: string[];
  /** The missing part of the record; a person decides whether the run is resumed. */
  record_behind: string | null;
  /** The execution that was last parked because of it. */
  behind_run_id: string | null;
  /** The decision, until it has been carried out. */
  continuity: ContinuityDecision | null;
  /** True if its workflow is switched off, which ends tasks that have not begun. */
  switched_off: boolean;
  /** True if the task interrupts, and so does a newer task of its workflow. */
  superseded: boolean;
}

/** A task that waits for its lane. */
export interface TaskInQueue {
  task_id: string;
  /** The owner's id. */
  principal: string;
}

export interface TimeSpan {
  from: Date;
  to: Date;
}

export type TaskStore = ReturnType<typeof taskStore>;

export function taskStore({
  pool,
  prisma,
  keys,
  publish = () => {},
}: {
  pool: pg.Pool;
  prisma: PrismaClient;
  keys: KeyRing;
  publish?: Publish;
}) {
  return {
    /**
     * Writes a pending task, once. Returns null if the workflow is inactive, deleted, or busy with `reject` as its policy; `full`
     * if its owner has as many tasks that have not ended as `most_open`. Throws `idempotency_key_busy` if another try of its
     * request has overtaken this one.
     */
    async create(task: NewTask, most_open: number | null = null): Promise<CreatedTask | typeof FULL | null> {
      const { task_id } = task;
      const created_at = new Date();
      const events = openingEvents(task, created_at.toISOString());
      const values = {
        ...toTaskValues(task, { created_at, keys }),
        events: JSON.stringify(events),
        most_open,
        claim: task.claim ?? null,
      };
      const write = (on: Queryable) => row<WrittenTask>(on, sql.createTask(values));
      const prepare = buildPrepare(task);
      const attempt = () => (prepare ? inTransaction(pool, (on) => writeAndPrepare(on, { prepare, write })) : write(pool));
      const created = await withDefinition(attempt);
      if (!created?.holder) {
        const before = await row<CreatedTask>(pool, sql.createdTask({ task_id, workflow_id: task.workflow_id }));
        if (!before && created?.is_overtaken) throw keyBusy();
        return before ?? (created ? FULL : null);
      }
      publish(task.workflow_id, task_id, { events, last: created.last });
      return { task_id, created_at: created_at.toISOString(), holder: created.holder };
    },

    /** Lists the tasks of a workflow that have not ended, oldest first. */
    async listOpenIds(workflow_id: string): Promise<string[]> {
      const where = { workflow_id, status: { notIn: [...TERMINAL_STATUSES] } };
      return (await prisma.task.findMany({ where, select: { id: true }, orderBy: { id: 'asc' } })).map(({ id }) => id);
    },

    /** Lists the tasks of a workflow that wait for a person or a budget, oldest first: at most one of each lane. */
    async listWaitingIds(workflow_id: string): Promise<string[]> {
      const where = { workflow_id, status: 'waiting' };
      return (await prisma.task.findMany({ where, select: { id: true }, orderBy: { id: 'asc' } })).map(({ id }) => id);
    },

    /** Lists the tasks of a workflow that have not begun, newest first. */
    listQueued: (workflow_id: string, limit: number) => rows<TaskInQueue>(pool, sql.queuedTasks({ workflow_id, limit })),
    /** Lists the interrupting tasks of a workflow that have not begun although a newer one was accepted, newest first. */
    listSuperseded: (workflow_id: string) => rows<TaskInQueue>(pool, sql.supersededTasks({ workflow_id })),
    /** Gives each free lane of a workflow and its threads to the next task. Returns the tasks that now hold one. */
    takeLanes: async (workflow_id: string): Promise<string[]> =>
      (await rows<{ holder: string }>(pool, sql.takeLanes({ workflow_id }))).map(({ holder }) => holder),

    /** Returns those of the ids whose tasks have ended. */
    async filterEnded(ids: string[]): Promise<string[]> {
      const where = { id: { in: ids.filter(isUuid) }, status: { in: [...TERMINAL_STATUSES] } };
      return (await prisma.task.findMany({ where, select: { id: true } })).map(({ id }) => id);
    },

    /** Records the request to end the run. */
    async noteHalt(task_id: string): Promise<void> {
      await prisma.task.updateMany({
        where: { id: task_id, status: { notIn: [...TERMINAL_STATUSES] } },
        data: { halt_requested: true },
      });
    },

    /** Changes the budget of a run in progress. Returns false if the task has ended. */
    async setBudget(task_id: string, budget: BudgetLimits | null): Promise<boolean> {
      return (await row(pool, setTaskBudget({ task_id, budget: budget && JSON.stringify(budget) }))) !== undefined;
    },

    /** Removes a task that never reached the engine, unless its request was claimed again. Returns the task that now holds the lane. */
    async discard(task_id: string, claim?: number): Promise<string | null> {
      const query = sql.discardTask({ task_id, claim: claim ?? null });
      return (await row<{ holder: string | null }>(pool, query))?.holder ?? null;
    },

    /** Returns the task that holds the lane of a task; null: none does. */
    holder: async (task_id: string): Promise<string | null> =>
      (await row<{ holder: string | null }>(pool, sql.holderOfLane({ task_id })))?.holder ?? null,

    async list(query: TaskListQuery) {
      const page = await listTasks(pool, query);
      return { ...page, items: page.items.map(toWireTask) };
    },
    errors: (filter: TaskFilter) => errorGroups(pool, filter),
    async find(id: string) {
      const task = await prisma.task.findUnique({ where: { id } });
      return task && toWireTask(task);
    },
    async todos(id: string): Promise<TodoItem[]> {
      const task = await prisma.task.findUnique({ where: { id }, select: { todos: true } });
      return (task?.todos ?? []) as unknown as TodoItem[];
    },
    /** Returns a task that has not ended; undefined if there is none. */
    findUnfinished: (task_id: string) => row<UnfinishedTask>(pool, sql.unfinishedTask({ task_id })),
    /** Lists the tasks that have not ended and were not created within this time. */
    listUnfinished: (grace_span: TimeSpan) => rows<UnfinishedTask>(pool, sql.unfinishedTasks({ ...grace_span })),
    /** Lists the task's calls that no longer wait for a decision. */
    async listSettledCalls(task_id: string): Promise<string[]> {
      const where = { task_id, NOT: [{ status: 'planned' }, { status: { startsWith: 'waiting' } }] };
      return (await prisma.toolCall.findMany({ where, select: { call_id: true } })).map(({ call_id }) => call_id);
    },
    async over(ids: string[], grace_span: TimeSpan): Promise<string[]> {
      return (await rows<{ id: string }>(pool, sql.tasksOver({ task_ids: ids, ...grace_span }))).map(({ id }) => id);
    },
    /** Assigns each free lane to the task that waits for it. */
    async settleLanes(): Promise<void> {
      await row(pool, sql.settleLanes());
    },
    /** Returns the facts for opening the secrets that a task's run may see; undefined if there is no such task. */
    findSecretFacts: (task_id: string) => row<RunOfSecrets>(pool, sql.secretsOfTask({ task_id })),
    /** Returns the same facts without the access token of the task's caller. */
    findOwnerFacts: (task_id: string) => row<Omit<RunOfSecrets, keyof SealedCaller>>(pool, sql.ownerOfTask({ task_id })),
    /** Opens the access token of a task's caller; null if the task has ended or had none. */
    callerToken({ task_id, caller_token, caller_key_id }: { task_id: string } & SealedCaller) {
      if (!caller_token || !caller_key_id) return null;
      return keys.open({ sealed: caller_token, key_id: caller_key_id } as Sealed, callerContext(task_id));
    },
  };
}

function toTaskValues(task: NewTask, { created_at, keys }: { created_at: Date; keys: KeyRing }) {
  const { definition, config = null, due_at = null, seed: from, evaluated } = task;
  const body = JSON.stringify(definition);
  const definition_hash = (from ?? evaluated)?.definition_hash ?? hashDefinition(body);
  return {
    task: JSON.stringify(toTaskRow(task, { definition_hash, created_at, keys })),
    receipt: task.receipt ? JSON.stringify(task.receipt) : null,
    begins_thread: task.place?.is_new ?? false,
    title: (task.place?.thread_id && toThreadTitle(task.prompt)) || null,
    definition: body,
    config: config && JSON.stringify(config),
    version_id: uuid(),
    is_trial: task.is_trial || (from !== undefined && from.definition_hash === null),
    due_at,
  };
}

interface RowFacts {
  definition_hash: string;
  created_at: Date;
  keys: KeyRing;
}

function toTaskRow(
  task: NewTask,
  { definition_hash, created_at, keys }: RowFacts,
): Record<(typeof sql.NEW_TASK)[number] | 'previous_task_id' | 'thread_turn', unknown> {
  const { task_id, definition, attachments = [], place } = task;
  const caller = task.caller_token === null ? null : keys.seal(task.caller_token, callerContext(task_id));
  return {
    id: task_id,
    workflow_id: task.workflow_id,
    workflow_title: definition.workflow.title,
    owner: task.owner,
    owner_login: task.owner_login,
    agent_id: definition.agent.id,
    agent_name: definition.agent.name,
    model: definition.model,
    definition_hash,
    prompt: task.prompt,
    prompt_parts: task.prompt_parts ?? null,
    attachments: attachments.length > 0 ? attachments : null,
    on_busy: task.on_busy,
    trigger: task.trigger,
    scheduled_agent_id: task.scheduled_agent_id ?? null,
    service_key_id: task.service_key_id ?? null,
    caller_token: caller && toBytea(caller.sealed),
    caller_key_id: caller?.key_id ?? null,
    created_at,
    thread_id: place?.thread_id ?? null,
    previous_task_id: place?.follows?.task_id ?? null,
    thread_turn: place?.follows ? place.follows.turn + 1 : null,
    beside_lane: place?.beside_lane ?? false,
    conversation_id: place?.in_conversation ? place.thread_id : null,
  };
}

/** Returns bytes as Postgres reads them from JSON. */
export const toBytea = (bytes: Uint8Array) => `\\x${Buffer.from(bytes).toString('hex')}`;

const EXCERPT = 200;

/** Returns the first events of a task. */
function openingEvents({ task_id, prompt, attachments = [], seed: from }: NewTask, at: string): NewEvent[] {
  const { log } = createTaskEvents(task_id, () => at);
  const received = log('prompt_received', excerpt(prompt), { task_id, ...(attachments.length > 0 ? { attachments } : {}) });
  if (!from) return [received];
  const { step, effects, changes } = from;
  const forked_from = { task_id: from.task_id, step, effects };
  const differs = changes.length > 0 ? ` with another ${changes.join(', ')}` : '';
  const detail = `Forked from step ${step} of the run ${from.task_id}${differs}`;
  return [received, log('forked', detail, { forked_from, ...(differs ? { changes } : {}) })];
}

const excerpt = (text: string) => storable([...text].slice(0, EXCERPT).join(''));
