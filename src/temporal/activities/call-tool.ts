import { ApplicationFailure } from '@temporalio/activity';
import { readArguments } from '../../domain/arguments.ts';
import type { Definition } from '../../domain/definition.ts';
import { type CallDecision, moveOf } from '../../domain/effects.ts';
import { eventsOf, isTerminal } from '../../domain/events.ts';
import { storable } from '../../domain/transcript.ts';
import type { OpenCall, ToolLedger } from '../../store/tool-ledger.ts';
import type { ToolOutcome } from '../../tools/source.ts';
import { attempt, type Halts, isHalt } from './attempt.ts';
import { retryDelay } from './failure.ts';

export interface CallToolPorts {
  ledger: ToolLedger;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  /** Carries the call out. Reports the tool's own failure in the outcome; throws when its source is out of reach. */
  perform(call: OpenCall, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
  isUnreachable(error: unknown): error is Error;
  now(): string;
}

/** Carries out one call, or asks a person what to do about it: `waiting` means that the ledger waits for a decision. */
export const callToolActivity =
  (ports: CallToolPorts) =>
  (task_id: string, call_id: string): Promise<'done' | 'waiting'> =>
    attempt(ports.halts, task_id, async (signal) => {
      const call = await ports.ledger.open(task_id, call_id);
      if (!call || isTerminal(call.task_status))
        throw ApplicationFailure.nonRetryable(`The task ${task_id} has ended`, 'task_ended');
      switch (moveOf(call)) {
        case 'nothing':
          return 'done';
        case 'ask_approval':
          return park(ports, call, 'waiting_approval');
        case 'ask_reconciliation':
          return park(ports, call, 'waiting_reconciliation');
        case 'settle':
          return settle(ports, call);
        case 'run':
          return run(ports, call, signal);
      }
    });

async function run(ports: CallToolPorts, call: OpenCall, signal: AbortSignal): Promise<'done'> {
  const { log, status } = eventsOf(call.task_id, ports.now);
  const resumed = call.status.startsWith('waiting') ? [status('running', call.turns)] : [];
  const again = call.attempts > 0 ? { attempt: call.attempts + 1 } : {};
  const told = log('tool_call', call.name, { call_id: call.call_id, name: call.name, arguments: call.arguments, ...again });
  if (!(await ports.ledger.start(call, [...resumed, told])))
    throw ApplicationFailure.retryable('Another attempt has this call', 'stale_attempt');
  const started = performance.now();
  try {
    const outcome = await outcomeOf(ports, call, signal);
    await end(ports, call, { ...outcome, kind: 'result', duration_ms: Math.round(performance.now() - started) });
    return 'done';
  } catch (error) {
    if (isHalt(signal.reason))
      await end(ports, call, { content: 'The run was halted while this tool ran.', failed: true, kind: 'result' });
    if (signal.aborted || !ports.isUnreachable(error)) throw error;
    throw await noteUnreachable(ports, call, error);
  }
}

async function outcomeOf(ports: CallToolPorts, call: OpenCall, signal: AbortSignal): Promise<ToolOutcome> {
  const read = readArguments(call.arguments);
  return 'refusal' in read ? { content: read.refusal, failed: true } : ports.perform(call, read.arguments, signal);
}

type Result = ToolOutcome & { kind: 'result' | 'denial'; duration_ms?: number };

async function end(
  ports: CallToolPorts,
  call: OpenCall,
  { content, failed, kind, stdout, stderr, duration_ms }: Result,
): Promise<void> {
  const { log, message } = eventsOf(call.task_id, ports.now);
  const text = storable(content);
  const { call_id, name } = call;
  const facts = { call_id, name, failed, ...(duration_ms === undefined ? {} : { duration_ms }) };
  const printed = { ...(stdout ? { stdout: storable(stdout) } : {}), ...(stderr ? { stderr: storable(stderr) } : {}) };
  const told =
    kind === 'denial' ? log('tool_denied', text, { call_id, name }) : log('tool_result', name, { ...facts, ...printed });
  await ports.ledger.end(call, {
    ...{
      content: text,
      failed,
      kind,
      stdout: printed.stdout ?? null,
      stderr: printed.stderr ?? null,
      duration_ms: duration_ms ?? null,
    },
    events: [told, message('tool', text, { call_id, name })],
  });
}

async function park(
  ports: CallToolPorts,
  call: OpenCall,
  status: 'waiting_approval' | 'waiting_reconciliation',
): Promise<'waiting'> {
  const { log, status: changed } = eventsOf(call.task_id, ports.now);
  const { call_id, name, arguments: args } = call;
  const asked =
    status === 'waiting_approval'
      ? log('approval_requested', `May the tool ${name} be called?`, { call_id, name, arguments: args })
      : log('reconciliation_requested', `The worker was lost while the tool ${name} ran; what came of it?`, {
          call_id,
          name,
          arguments: args,
        });
  await ports.ledger.park(call, { status, events: [asked, changed('waiting', call.turns)] });
  return 'waiting';
}

/** Writes what a person said instead of calling the tool. */
async function settle(ports: CallToolPorts, call: OpenCall): Promise<'done'> {
  const { decision, message, result } = call.decision as CallDecision;
  if (decision === 'done')
    await end(ports, call, {
      content: typeof result === 'string' ? result : JSON.stringify(result ?? null),
      failed: false,
      kind: 'result',
    });
  else if (decision === 'fail')
    await end(ports, call, { content: message ?? 'The tool call failed; its outcome is unknown.', failed: true, kind: 'result' });
  else await end(ports, call, { content: `Denied by a person${message ? `: ${message}` : '.'}`, failed: true, kind: 'denial' });
  return 'done';
}

async function noteUnreachable(ports: CallToolPorts, call: OpenCall, error: Error): Promise<ApplicationFailure> {
  const { final, delay_ms } = retryDelay({ recoverable: true, errors: call.errors });
  const { log } = eventsOf(call.task_id, ports.now);
  const told = log('retry', storable(error.message), { call_id: call.call_id, wait_ms: delay_ms });
  await ports.ledger.release(call, final ? [] : [told]);
  return ApplicationFailure.create({
    message: error.message,
    type: 'tool_unreachable',
    nonRetryable: final,
    nextRetryDelay: delay_ms,
  });
}
