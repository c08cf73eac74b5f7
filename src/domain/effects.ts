import type { AttachedFile } from './attachments.ts';

export type ToolEffect = 'read' | 'idempotent' | 'write';

export type WaitingCall = 'waiting_approval' | 'waiting_reconciliation' | 'waiting_client';
/** The status of a call. `waiting_answer`: the call is in progress, and its tool has asked a person something. */
export type CallStatus = 'planned' | 'started' | 'waiting_answer' | 'done' | 'denied' | WaitingCall;

/** The decision of a person about a call: approve or deny before it runs; retry, done or fail after its worker was lost. */
export interface CallDecision {
  decision: 'approve' | 'deny' | 'retry' | 'done' | 'fail';
  message?: string;
  result?: unknown;
  /** The tools of which the model must call one after this result; absent: it decides itself. */
  forced_tools?: string[];
  /** The files of a result that a worker delivered late. */
  files?: AttachedFile[];
}

export interface LedgerEntry {
  status: CallStatus;
  effect: ToolEffect;
  approval: boolean;
  attempts: number;
  /** True if the installation was restored to a time before the call was last started: the call may have been made already. */
  restored: boolean;
  decision: CallDecision | null;
}

/** The next action for a call. */
type Move = 'run' | 'nothing' | 'ask_approval' | 'ask_reconciliation' | 'settle';

/**
 * Decides the next action for a call. A call that was begun and has no result may have taken effect, and so may any call of a
 * restored run. It is run without asking only if its tool changes nothing, or if a second call changes nothing more. Approval
 * comes first.
 */
export function decideMove({ status, effect, approval, attempts, restored, decision }: LedgerEntry): Move {
  if (status === 'done' || status === 'denied') return 'nothing';
  if (decision && decision.decision !== 'approve' && decision.decision !== 'retry') return 'settle';
  const was_asked = status === 'waiting_reconciliation';
  if (approval && attempts === 0 && !was_asked && decision?.decision !== 'approve') return 'ask_approval';
  const unsure = status === 'started' || status === 'waiting_answer' || was_asked || restored;
  if (unsure && effect === 'write' && decision?.decision !== 'retry') return 'ask_reconciliation';
  return 'run';
}
