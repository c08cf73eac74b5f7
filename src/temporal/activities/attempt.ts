import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { asLack, findOutage } from '../../domain/outages.ts';
import { HALTED, TASK_ENDED } from '../names.ts';

/** The heartbeat interval, well below the heartbeat timeout, so that one late heartbeat does not count as a lost worker. */
const BEAT_MS = 2_000;

/** Reports which tasks to stop, sooner than the next heartbeat would. */
export interface Halts {
  /** Returns a signal that aborts when the task is halted; `end` stops watching. */
  watch(task_id: string): { signal: AbortSignal; end(): void };
}

/** Creates the failure of an attempt at a run that is being halted. */
export const haltFailure = () => ApplicationFailure.nonRetryable('The run was halted', HALTED);

/**
 * Creates the failure of an attempt at a run whose task has ended (`status`) or was deleted, for example after a reset in
 * Temporal.
 */
export const taskEnded = (task_id: string, status: string | undefined) =>
  ApplicationFailure.nonRetryable(
    status === undefined
      ? `No task ${task_id}: it was deleted, so this execution ends`
      : `The task ${task_id} is ${status} and a reset does not repeat it, so this execution ends; to run it again from one of its steps, fork it in Perdura`,
    TASK_ENDED,
  );

/** True if a person's halt caused the abort, rather than a worker that shuts down or was considered lost. */
export function isHalt(reason: unknown): boolean {
  return reason instanceof CancelledFailure
    ? reason.message === 'CANCELLED'
    : reason instanceof ApplicationFailure && reason.type === HALTED;
}

/** The reports of an activity's attempts to the engine, which keeps them even if the database does not. */
export interface Noted {
  /** The report of this attempt or, until it makes one, of an earlier attempt; null: none. */
  last: string | null;
}

/**
 * Runs an activity's work under heartbeats. The signal given to the work aborts on a halt, on a worker's shutdown and when the
 * attempt is stale.
 */
export async function runAttempt<T>(
  halts: Halts,
  task_id: string,
  work: (signal: AbortSignal, heartbeat: Noted) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const heartbeat: Noted = { last: (context.info.heartbeatDetails as string | undefined) ?? null };
  const report = () => context.heartbeat(...(heartbeat.last === null ? [] : [heartbeat.last]));
  const halt = halts.watch(task_id);
  const signal = AbortSignal.any([context.cancellationSignal, halt.signal]);
  const beat = setInterval(report, BEAT_MS);
  try {
    return await work(signal, heartbeat);
  } catch (error) {
    if (heartbeat.last !== null) report();
    if (!signal.aborted) throw limitRetries(error, context.info.attempt);
    const { reason } = signal;
    // A shutdown is not a halt: the engine gives the attempt to another worker.
    if (reason instanceof CancelledFailure && !isHalt(reason))
      throw ApplicationFailure.retryable(`The worker stopped: ${reason.message}`, 'WorkerShutdown');
    throw reason;
  } finally {
    clearInterval(beat);
    halt.end();
  }
}

/** Runs an activity's work under heartbeats only, without halts. */
export async function withHeartbeats<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/** The number of attempts that may fail with an unexpected error. */
const UNFORESEEN = 5;

/**
 * Retries an unexpected error only a few times, but retries indefinitely while the database, the engine or a resource of the machine is
 * unavailable.
 */
function limitRetries(error: unknown, attempts: number): unknown {
  if (error instanceof ApplicationFailure || attempts < UNFORESEEN || findOutage(error)) return asLack(error);
  return ApplicationFailure.create({
    message: (error as Error).message,
    type: 'internal',
    nonRetryable: true,
    cause: error as Error,
  });
}

/** Creates the failure of an attempt that was considered lost: a later attempt does its work. */
export const staleAttempt = () => ApplicationFailure.retryable('Another attempt has taken over', 'stale_attempt');

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** Retries a write during an outage, so that the answer of a model or tool is not lost. */
export async function retryWhileDown<T>(write: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (!findOutage(error) || signal.aborted) throw error;
      await wait(pause, undefined, { signal }).catch(() => {});
    }
  }
}

/** Keeps the halts of tasks, which arrive from the bus. */
export function haltRegistry(): Halts & { halt(task_id: string): void } {
  const controllers = new Map<string, Set<AbortController>>();
  return {
    watch(task_id) {
      const controller = new AbortController();
      const all = controllers.get(task_id) ?? new Set();
      controllers.set(task_id, all.add(controller));
      return {
        signal: controller.signal,
        end() {
          all.delete(controller);
          if (all.size === 0 && controllers.get(task_id) === all) controllers.delete(task_id);
        },
      };
    },
    halt(task_id) {
      for (const controller of controllers.get(task_id) ?? []) controller.abort(haltFailure());
    },
  };
}
