import type { RunWait } from '../../domain/continuity.ts';
import type { Definition } from '../../domain/definition.ts';
import type { Store } from '../../store/index.ts';
import type { TimeSpan, UnfinishedTask } from '../../store/runs/tasks.ts';
import type { ReconciledTasks } from '../activities/reconciled-tasks.ts';
import type { Engine, Execution } from '../client/engine.ts';
import { carryOut, parkEnded, parkWaiting, restart } from '../start/continuity.ts';
import { endUnrun } from '../start/lane-queue.ts';
import type { Settle } from '../start/settle.ts';
import { createParkedRuns, missingWhileParked, type ParkedRuns } from './parked-runs.ts';

interface ReconcilerPorts {
  store: Pick<Store, 'tasks' | 'continuity' | 'workflows' | 'webhooks' | 'ledger' | 'runs'>;
  engine: Engine;
  settle: Settle;
  definition(hash: string): Promise<Definition>;
  /** Results of earlier comparisons; absent: none. */
  parked?: ParkedRuns;
  now(): Date;
}

type Comparing = ReconcilerPorts & { parked: ParkedRuns };

/** The time allowed between the record of a prompt and its start, and between the record of a run's end and its end. */
const GRACE_MS = 15_000;
/** The time that a workflow made for one request may exist without its task. */
const UNUSED_MS = 5 * 60_000;
const AT_A_TIME = 10;
const BATCH = 500;

const LOST = 'The workflow engine ended this run without a result; it may have been terminated there';

/** Compares tasks with the engine in both directions. Idempotent, and safe on several workers at once. */
export async function reconcile(ports: ReconcilerPorts): Promise<ReconciledTasks> {
  const { store, now } = ports;
  const grace_span = toGraceSpan(now());
  await store.tasks.settleLanes();
  const tasks = await store.tasks.listUnfinished(grace_span);
  const comparing: Comparing = { ...ports, parked: ports.parked ?? createParkedRuns() };
  comparing.parked.begin(tasks.map(({ task_id }) => task_id));
  const done: ReconciledTasks = { compared: tasks.length, restarted: 0, lost: 0, behind: 0, strays: 0 };
  for (let from = 0; from < tasks.length; from += AT_A_TIME) {
    const moves = await Promise.all(tasks.slice(from, from + AT_A_TIME).map((task) => compare(comparing, task)));
    for (const move of moves) if (move) done[move] += 1;
  }
  for (const delivery of await store.webhooks.pending()) await ports.engine.deliver(delivery);
  done.strays = await endStrays(ports, grace_span);
  await store.workflows.removeUnused(new Date(now().getTime() - UNUSED_MS));
  return done;
}

/**
 * Returns the time span around now in which something may still be in progress. A time further ahead is from before the clock was
 * set back.
 */
export const toGraceSpan = (now: Date, grace_ms = GRACE_MS): TimeSpan => ({
  from: new Date(now.getTime() - grace_ms),
  to: new Date(now.getTime() + grace_ms),
});

async function compare(ports: Comparing, task: UnfinishedTask): Promise<'restarted' | 'lost' | 'behind' | null> {
  const { engine } = ports;
  if (task.continuity) {
    await carryOut(ports, task);
    return task.continuity === 'resume' ? 'restarted' : null;
  }
  if (task.status === 'pending' && (task.switched_off || task.superseded)) {
    await endUnrun(ports, task, task.switched_off ? 'workflow_inactive' : 'superseded');
    return null;
  }
  const execution = await engine.execution(task.task_id);
  const { state } = execution;
  if (task.record_behind && (state === 'closed' || state === 'unknown')) return null;
  switch (state) {
    case 'waiting':
      return compareParked(ports, task, execution);
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

async function compareParked(ports: Comparing, task: UnfinishedTask, { run_id, place }: Execution): Promise<'behind' | null> {
  const { engine, parked } = ports;
  const waits = task.record_behind || !place ? null : await parked.findWaits(engine, task.task_id, place);
  const missing = waits && (await missingWhileParked(ports, task, { place, waits }));
  if (missing && run_id) return parkWaiting(ports, task, { run_id, missing, now: () => ports.now().toISOString() });
  if (task.status === 'running') await wake(ports, task);
  else if (task.status === 'waiting' && waits) await admit(engine, task, waits);
  await remind(engine, task);
  return null;
}

/**
 * Lets a run proceed that waits for its lane, although its task has the lane: a task that waits for a person was let in before.
 */
async function admit(engine: Engine, { task_id, holder }: UnfinishedTask, waits: RunWait[]): Promise<void> {
  if (holder === task_id && waits.some((wait) => wait.for === 'lane')) await engine.proceed(task_id);
}

/**
 * Repeats the signals of a running task. If the engine was restored to an older state than the record, a run waits there for
 * signals that, on record, it has received. The record is read after the engine, because a run records its wait before it begins
 * to wait.
 */
async function wake({ store, engine }: ReconcilerPorts, { task_id, holder }: UnfinishedTask): Promise<void> {
  if ((await store.tasks.find(task_id))?.status !== 'running') return;
  if (holder === task_id) await engine.proceed(task_id);
  for (const call_id of await store.tasks.listSettledCalls(task_id)) await engine.decide(task_id, call_id);
  await engine.raise(task_id);
}

/** Repeats signals that a run may have missed: a free lane, a person's decision, an interruption. */
async function remind(engine: Engine, { task_id, status, holder, on_busy, decided }: UnfinishedTask): Promise<void> {
  for (const call_id of decided) await engine.decide(task_id, call_id);
  if (status !== 'pending') return;
  if (holder === task_id) await engine.proceed(task_id);
  else if (holder && on_busy === 'interrupt') await engine.halt(holder);
}

async function endStrays({ store, engine }: ReconcilerPorts, grace_span: TimeSpan): Promise<number> {
  let ended = 0;
  let batch: string[] = [];
  const endBatch = async () => {
    const over = await store.tasks.over(batch, grace_span);
    for (const task_id of over) if (await engine.terminate(task_id, 'Its task has ended or was deleted')) ended += 1;
    batch = [];
  };
  for await (const task_id of engine.openRuns(grace_span)) if (batch.push(task_id) === BATCH) await endBatch();
  await endBatch();
  return ended;
}
