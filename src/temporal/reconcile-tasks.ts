import type { Definition } from '../domain/definition.ts';
import type { Store } from '../store/index.ts';
import type { UnfinishedTask } from '../store/tasks.ts';
import { carryOut, parkEnded, restart } from './continuity.ts';
import type { Engine } from './engine.ts';
import type { Settle } from './settle.ts';

interface ReconcilerPorts {
  store: Pick<Store, 'tasks' | 'continuity' | 'workflows' | 'events' | 'idempotency' | 'webhooks'>;
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
  /** Tasks whose run had recorded its end, which the record has no longer: they wait for a person. */
  behind: number;
  /** Executions without a task, ended. */
  strays: number;
}

/** The time allowed between the record of a prompt and its start, and between the record of a run's end and its end. */
const GRACE_MS = 15_000;
const DELTAS_KEPT_MS = 24 * 3_600_000;
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
  const done: ReconciledTasks = { compared: tasks.length, restarted: 0, lost: 0, behind: 0, strays: 0 };
  for (let from = 0; from < tasks.length; from += AT_A_TIME) {
    const moves = await Promise.all(tasks.slice(from, from + AT_A_TIME).map((task) => compare(ports, task)));
    for (const move of moves) if (move) done[move] += 1;
  }
  for (const delivery_id of await store.webhooks.pending()) await ports.engine.deliver(delivery_id);
  done.strays = await endStrays(ports, settled);
  await store.events.trimDeltas(new Date(now().getTime() - DELTAS_KEPT_MS));
  await store.idempotency.expire();
  await store.workflows.removeUnused(new Date(now().getTime() - UNUSED_MS));
  return done;
}

async function compare(ports: ReconcilerPorts, task: UnfinishedTask): Promise<'restarted' | 'lost' | 'behind' | null> {
  const { engine } = ports;
  if (task.continuity) {
    await carryOut(ports, task);
    return task.continuity === 'resume' ? 'restarted' : null;
  }
  const state = await engine.state(task.task_id);
  if (task.record_behind && state !== 'open') return null;
  switch (state) {
    case 'open':
      await remind(engine, task);
      return null;
    case 'unknown':
      await restart(ports, task);
      return 'restarted';
    case 'closed': {
      if (await parkEnded(ports, task, () => ports.now().toISOString())) return 'behind';
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
