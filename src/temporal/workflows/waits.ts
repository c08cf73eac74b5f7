import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { condition, defineQuery, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { RunWait } from '../../domain/continuity.ts';
import type { Asking, PassedCalls, ShownStatus, WaitingStatus } from '../names.ts';

/** The progress of the loop. */
export interface Progress {
  turns: number;
  rounds: number;
  passed: PassedCalls;
  /** Calls of the current round. */
  acts: Promise<void>[];
  /** Calls that a worker executes now; the value is true if the call waits for an answer. */
  calls: Map<string, boolean>;
  /** The number of open waits. */
  parked: number;
  /**
   * Everything the run waits for, except answers to questions of calls in progress: those calls check their record themselves.
   */
  waits: Set<RunWait>;
}

const STATUS = defineSearchAttributeKey('PerduraStatus', SearchAttributeType.KEYWORD);

export const show = (status: ShownStatus | null) => upsertSearchAttributes([{ key: STATUS, value: status }]);

/** Returns everything the run waits for, so that it can be compared with its record. */
export const waits = defineQuery<RunWait[]>('waits');

interface Wait {
  on: RunWait;
  details: string;
  status: WaitingStatus;
  until: () => boolean;
  /** The time limit in milliseconds; absent: none. */
  at_most_ms?: number;
}

/**
 * Waits until a condition holds; meanwhile the run is searchable and shown as waiting. Returns false if the time limit passed
 * first.
 */
export async function park(progress: Progress, { on, details, status, until, at_most_ms }: Wait): Promise<boolean> {
  setCurrentDetails(details);
  progress.waits.add(on);
  enterWait(progress, status);
  try {
    if (at_most_ms !== undefined) return await condition(until, at_most_ms);
    await condition(until);
    return true;
  } finally {
    progress.waits.delete(on);
    leaveWait(progress);
  }
}

function enterWait(progress: Progress, status: WaitingStatus): void {
  progress.parked += 1;
  if (progress.parked === 1) show(status);
}

function leaveWait(progress: Progress): void {
  progress.parked -= 1;
  if (progress.parked === 0) show('running');
}

/** Only shows the question: the call continues by itself when it has its answer. A signal may arrive after the call has ended. */
export function showQuestion(progress: Progress, { call_id, is_asking }: Asking): void {
  const was = progress.calls.get(call_id);
  if (was === undefined || was === is_asking) return;
  progress.calls.set(call_id, is_asking);
  if (is_asking) enterWait(progress, 'waiting');
  else leaveWait(progress);
}

/** Marks a call as in progress while a worker executes it. */
export async function during<T>(progress: Progress, call_id: string, work: () => Promise<T>): Promise<T> {
  progress.calls.set(call_id, false);
  try {
    return await work();
  } finally {
    showQuestion(progress, { call_id, is_asking: false });
    progress.calls.delete(call_id);
  }
}
