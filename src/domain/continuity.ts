import type { CallStatus } from './effects.ts';

/** The decision of a person about a run whose record is older than its execution. */
export type ContinuityDecision = 'resume' | 'fail';

/** The code of a run that a person ended because its record was behind. */
export const RECORD_BEHIND = 'record_behind';

/** The state of the record at the beginning of a step, as a statement found it. */
interface StepPlace {
  /** True if the previous step is recorded, or there is none. */
  follows: boolean;
  /** The calls of the previous step that have not ended. */
  unended: string[];
  /** True if the definition of the run is recorded. */
  defined: boolean;
}

const DEFINITION = 'its definition';

/** Returns what the record lacks for this step; null if the record is as far as the engine. */
export function findStepGap({ step, denied }: { step: number; denied: string[] }, place: StepPlace): string | null {
  if (!place.defined) return DEFINITION;
  if (!place.follows) return `step ${step - 1}`;
  // Calls over the turn limit are answered when the step begins.
  const open_calls = place.unended.filter((call_id) => !denied.includes(call_id));
  return open_calls.length > 0
    ? `the result of ${open_calls.length > 1 ? 'the calls' : 'the call'} ${open_calls.join(', ')}`
    : null;
}

/**
 * The state of a call as the engine has seen it. `begun`: an attempt has started it. `parked`: it waits, or has waited, for a
 * person or a client. `decided`: it waits again after a decision about it was carried out.
 */
export type CallSeen = 'begun' | 'parked' | 'decided';

/** A call as the record has it. */
interface CallOnRecord {
  known: boolean;
  defined: boolean;
  status: CallStatus;
  attempts: number;
}

/** Returns what the record lacks for a call; null if nothing. Whatever the engine has seen of a call was recorded before. */
export function findCallGap(
  call_id: string,
  { known, defined, status, attempts }: CallOnRecord,
  seen: CallSeen | null = null,
): string | null {
  if (!known) return `the call ${call_id}`;
  if (!defined) return DEFINITION;
  if (seen && status === 'planned' && attempts === 0)
    return seen === 'begun' ? `the beginning of the call ${call_id}` : `the question about the call ${call_id}`;
  return seen === 'decided' && status === 'waiting_approval' ? `the decision about the call ${call_id}` : null;
}

/** The position that the record of a run has reached. */
export interface PlaceOnRecord {
  /** The calls of the run that have not ended. */
  open_calls: { call_id: string; status: CallStatus; attempts: number }[];
  /** The last step that the run has begun. */
  steps: number;
}

/**
 * Something that a run waits for, as its execution has it. `person`: a person has to decide, because the run's record is behind.
 */
export type RunWait =
  | { for: 'lane' | 'person' }
  | { for: 'budget'; step: number }
  | { for: 'call'; call_id: string; seen: CallSeen };

export const DOUBT = 'what its execution had found missing before';

export const ANSWER = 'the final answer';
export const END = 'the end of the run';

export const formatBehind = (missing: string) =>
  `The record of this run is older than its execution: it lacks ${missing}. Resume the run from its record, or fail it`;
