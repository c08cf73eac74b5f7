import { END, formatBehind, RECORD_BEHIND } from '../../domain/continuity.ts';
import type { Definition } from '../../domain/definition.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { Store } from '../../store/index.ts';
import type { UnfinishedTask } from '../../store/runs/tasks.ts';
import type { Engine } from '../client/engine.ts';
import { toRunRules } from '../names.ts';
import type { Settle } from './settle.ts';

export interface ContinuityPorts {
  store: Pick<Store, 'tasks' | 'continuity'>;
  engine: Engine;
  settle: Settle;
  definition(hash: string): Promise<Definition>;
}

/**
 * Carries out a person's decision about a run whose record is behind. Each part can be repeated, also by several processes at
 * once.
 */
export async function carryOut(ports: ContinuityPorts, task: UnfinishedTask): Promise<void> {
  const { store, engine } = ports;
  const { task_id, continuity, behind_run_id } = task;
  if (continuity === 'fail') return fail(ports, task);
  if (continuity !== 'resume' || behind_run_id === null) return;
  // The execution is named by its id, so that a repetition does not end the execution that replaces it.
  await engine.terminate(task_id, 'The run is resumed from its record by another execution', behind_run_id);
  await restart(ports, task);
  await store.continuity.done(task_id, behind_run_id);
}

async function fail(
  { engine, settle }: ContinuityPorts,
  { task_id, principal, record_behind, turns }: UnfinishedTask,
): Promise<void> {
  const error = formatBehind(record_behind!);
  const { next, webhook } = await settle(task_id, { status: 'failed', error, error_code: RECORD_BEHIND, turns });
  if (webhook) await engine.deliver({ id: webhook, owner: principal });
  if (next) await engine.proceed(next);
  await engine.terminate(task_id, 'A person failed the run, because its record is behind');
}

/**
 * Starts a run again from the record, which holds every finished step and call: the loop passes over them without repeating any.
 */
export async function restart({ store, engine, definition }: ContinuityPorts, task: UnfinishedTask): Promise<void> {
  const { settings } = await definition(task.definition_hash);
  const { task_id, holder, owner, principal, trigger, agent, workflow, workflow_id, model } = task;
  const queued = holder !== null && holder !== task_id;
  const labels = { owner, principal, trigger, agent, workflow, workflow_id, model };
  await engine.restart({ task_id, queued, ...toRunRules(settings) }, labels);
  // If the task was settled while its run was being started, the run would otherwise wait for its lane forever.
  if (isTerminal((await store.tasks.find(task_id))?.status ?? 'halted')) await engine.halt(task_id);
}

/** Creates the events that a run publishes when it is parked. */
export function behindEvents(task_id: string, { missing, turns, now }: { missing: string; turns: number; now: () => string }) {
  const { log, status } = createTaskEvents(task_id, now);
  return [log(RECORD_BEHIND, formatBehind(missing), { missing }), status('waiting', turns)];
}

/**
 * Parks a task whose execution waits for something that is not on record. Returns null if it was already parked, or has ended.
 */
export async function parkWaiting(
  { store }: Pick<ContinuityPorts, 'store'>,
  { task_id, workflow_id, turns }: UnfinishedTask,
  { run_id, missing, now }: { run_id: string; missing: string; now: () => string },
): Promise<'behind' | null> {
  const events = behindEvents(task_id, { missing, turns, now });
  return (await store.continuity.park({ task_id, workflow_id }, { run_id, missing, events })) ? 'behind' : null;
}

/**
 * Parks a task whose execution ended by itself, after it had recorded the end. Returns null if the execution was ended from
 * outside.
 */
export async function parkEnded(
  { store, engine }: ContinuityPorts,
  task: UnfinishedTask,
  now: () => string,
): Promise<'behind' | null> {
  const { task_id, workflow_id, turns } = task;
  const run_id = await engine.findOwnEnd(task_id);
  if (run_id === null) return null;
  const events = behindEvents(task_id, { missing: END, turns, now });
  await store.continuity.park({ task_id, workflow_id }, { run_id, missing: END, events });
  return 'behind';
}
