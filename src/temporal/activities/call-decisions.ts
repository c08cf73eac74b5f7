import type { CallDecision, WaitingCall } from '../../domain/effects.ts';
import { formatDenial, storable } from '../../domain/transcript.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { OpenCall, ToolLedger } from '../../store/runs/tool-ledger.ts';
import { staleAttempt } from './attempt.ts';
import { type CallResult, endCall, type Kept } from './call-end.ts';

export interface CallDecisionPorts {
  ledger: Pick<ToolLedger, 'end' | 'park' | 'resume' | 'decide'>;
  /** Notifies the run that there is a decision about one of its calls. */
  nudge(task_id: string, call_id: string): Promise<unknown>;
  now(): string;
}

/** Pauses the run until a person decides about a call. `cause`: why nobody knows if the call took effect. */
export async function parkCall(
  ports: CallDecisionPorts,
  call: OpenCall,
  status: WaitingCall,
  cause?: string,
): Promise<'waiting'> {
  const { log, status: createStatusEvent } = createTaskEvents(call.task_id, ports.now);
  const { call_id, name, arguments: args } = call;
  const facts = { call_id, name, arguments: args };
  const request_event = {
    waiting_approval: () => log('approval_requested', `May the tool ${name} be called?`, facts),
    waiting_client: () => log('client_call_requested', `The client executes ${name} and sends the result`, facts),
    waiting_reconciliation: () => {
      const lost = call.restored ? formatRestore(name) : formatLostWorker(name);
      const reason = cause === undefined ? {} : { cause: storable(cause) };
      const question = `${reason.cause ?? lost}; what was the outcome?`;
      return log('reconciliation_requested', question, { ...facts, restored: call.restored, ...reason });
    },
  }[status]();
  // Already parked: the worker was lost before it could report that.
  if (call.status === status) return 'waiting';
  if (!(await ports.ledger.park(call, { status, events: [request_event, createStatusEvent('waiting', call.turns)] })))
    throw staleAttempt();
  return 'waiting';
}

const formatLostWorker = (name: string) => `The worker was lost while the tool ${name} ran`;
const formatRestore = (name: string) =>
  `The installation was restored from an older record, so the tool ${name} may already have been called`;

/** Writes a person's decision as the result, instead of calling the tool. */
export async function writeDecision(ports: CallDecisionPorts, call: OpenCall): Promise<'done'> {
  if (!(await endCall(ports, call, toResult(call.decision as CallDecision)))) throw staleAttempt();
  await resumeRun(ports, call);
  return 'done';
}

function toResult({ decision, message, result, forced_tools, files }: CallDecision): CallResult {
  const extra = forced_tools || files ? { ...(forced_tools && { forced_tools }), ...(files && { files }) } : null;
  if (decision === 'done') {
    const content = typeof result === 'string' ? result : JSON.stringify(result ?? null);
    return { content, failed: false, kind: 'result', extra };
  }
  if (decision === 'fail')
    return { content: message ?? 'The tool call failed; its outcome is unknown.', failed: true, kind: 'result', extra };
  return { content: formatDenial(message), failed: true, kind: 'denial' };
}

/**
 * Writes the result of a tool that ended on a worker considered lost. If a person is being asked for its outcome, this answers
 * the question. Returns true if it does.
 */
export async function decideLate(ports: CallDecisionPorts, call: OpenCall, { content, failed, extra }: Kept): Promise<boolean> {
  const { call_id, name, task_id, attempts } = call;
  const result = storable(content);
  const answer = failed ? { decision: 'fail' as const, message: result } : { decision: 'done' as const, result };
  const decision = { ...answer, ...(extra?.files && { files: extra.files }) };
  const decision_event = createTaskEvents(task_id, ports.now).log('reconciliation_decided', 'The tool ended after all', {
    call_id,
    name,
    decision: decision.decision,
  });
  if (!(await ports.ledger.decide(call, { decision, by: 'worker', attempts, events: [decision_event] }))) return false;
  await ports.nudge(task_id, call_id);
  return true;
}

/** Resumes the run if this was the last of its calls that waited for a person, or if the run itself waited. */
export async function resumeRun(ports: Pick<CallDecisionPorts, 'ledger' | 'now'>, call: OpenCall): Promise<void> {
  if (!call.status.startsWith('waiting') && call.task_status !== 'waiting') return;
  await ports.ledger.resume(call, [createTaskEvents(call.task_id, ports.now).status('running', call.turns)]);
}
