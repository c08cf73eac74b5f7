import type { Definition } from '../domain/definition.ts';
import { isTerminal } from '../domain/statuses.ts';
import type { Store } from '../store/index.ts';
import type { UnfinishedTask } from '../store/tasks.ts';
import type { Engine } from './engine.ts';
import { rulesOf } from './names.ts';
import type { Settle } from './settle.ts';

interface ReconcilerPorts {
  store: Pick<Store, 'tasks' | 'workflows' | 'webhooks'>;
  engine: Engine;
  settle: Settle;
  definition(hash: string): Promise<Definition>;
  now(): Date;
}

/** What was found and repaired. */
export interface ReconciledTasks {
  /** Non-terminal tasks compared with the engine. */
  compared: number;
  /** Tasks without an execution, started again from their record. */
  restarted: number;
  /** Tasks whose run had ended although the task had not: now failed. */
  lost: number;
  /** Executions without a task, ended. */
  strays: number;
  /** Old records that were removed, by kind. */
  removed?: Record<string, number>;
}

/** The time allowed between the record of a prompt and its start, and between the record of a run's end and its end. */
const GRACE_MS = 15_000;
/** How long a workflow made for one request may exist without its task. */
const UNUSED_MS = 5 * 60_000;
const AT_A_TIME = 10;
const BATCH = 500;

const LOST = 'The workflow engine ended this run without a result; it may have been terminated there';

/** Compares tasks with the engine in both directions. Idempotent, and safe on several workers at once. */
export async function reconcile(ports: ReconcilerPorts): Promise<ReconciledTasks> {
  const { store, now } = ports;
  const settled = new Date(now().getTime() - GRACE_MS);
  await store.tasks.settleLanes();
  const tasks = await store.tasks.unfinished(settled);
  const done: ReconciledTasks = { compared: tasks.length, restarted: 0, lost: 0, strays: 0 };
  for (let from = 0; from < tasks.length; from += AT_A_TIME) {
    const moves = await Promise.all(tasks.slice(from, from + AT_A_TIME).map((task) => compare(ports, task)));
    for (const move of moves) if (move) done[move] += 1;
  }
  for (const delivery_id of await store.webhooks.pending()) await ports.engine.deliver(delivery_id);
  done.strays = await endStrays(ports, settled);
  await store.workflows.removeUnused(new Date(now().getTime() - UNUSED_MS));
  return done;
}

async function compare(ports: ReconcilerPorts, task: UnfinishedTask): Promise<'restarted' | 'lost' | null> {
  const { engine } = ports;
  switch (await engine.state(task.task_id)) {
    case 'open':
      await remind(engine, task);
      return null;
    case 'unknown':
      await restart(ports, task);
      return 'restarted';
    case 'closed': {
      const { next } = await ports.settle(task.task_id, {
        status: 'failed',
        error: LOST,
        error_code: 'run_lost',
        turns: task.turns,
      });
      if (next) await engine.proceed(next);
      return 'lost';
    }
  }
}

/** Repeats signals that a run may have missed: a free lane, a person's decision, an interruption. */
async function remind(engine: Engine, { task_id, status, holder, on_busy, decided }: UnfinishedTask): Promise<void> {
  for (const call_id of decided) await engine.decide(task_id, call_id);
  if (status !== 'pending') return;
  if (holder === task_id) await engine.proceed(task_id);
  else if (holder && on_busy === 'interrupt') await engine.halt(holder);
}

/** The record holds every finished step and call: the loop passes over them without repeating any. */
async function restart({ store, engine, definition }: ReconcilerPorts, task: UnfinishedTask): Promise<void> {
  const { settings } = await definition(task.definition_hash);
  const { task_id, holder, owner, agent, workflow, workflow_id, model } = task;
  const queued = holder !== null && holder !== task_id;
  await engine.start({ task_id, queued, ...rulesOf(settings) }, { owner, agent, workflow, workflow_id, model });
  // If the task was settled while its run was being started, the run would wait for its lane forever.
  if (isTerminal((await store.tasks.find(task_id))?.status ?? 'halted')) await engine.halt(task_id);
}

async function endStrays({ store, engine }: ReconcilerPorts, settled: Date): Promise<number> {
  let ended = 0;
  let batch: string[] = [];
  const endBatch = async () => {
    const over = await store.tasks.over(batch, settled);
    for (const task_id of over) if (await engine.terminate(task_id, 'Its task has ended or was deleted')) ended += 1;
    batch = [];
  };
  for await (const task_id of engine.openRuns(settled)) if (batch.push(task_id) === BATCH) await endBatch();
  await endBatch();
  return ended;
}
