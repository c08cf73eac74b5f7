import { ApplicationFailure, Context } from '@temporalio/activity';
import { parseArguments } from '../../domain/arguments.ts';
import { type CallSeen, findCallGap } from '../../domain/continuity.ts';
import { type Definition, listClientTools } from '../../domain/definition.ts';
import { decideMove } from '../../domain/effects.ts';
import { findOutage } from '../../domain/outages.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { storable } from '../../domain/transcript.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { OpenCall, ToolLedger } from '../../store/runs/tool-ledger.ts';
import type { ToolOutcome } from '../../tools/source.ts';
import { type AnswerPorts, answerFromRecord } from './answer-call.ts';
import { type Halts, haltFailure, type Noted, retryWhileDown, runAttempt, staleAttempt, taskEnded } from './attempt.ts';
import { type CallDecisionPorts, decideLate, parkCall, resumeRun, writeDecision } from './call-decisions.ts';
import { type CallEndPorts, type CallResult, endCall, keepFilesOf } from './call-end.ts';
import { type ParkBehind, parkRunBehind } from './continuity.ts';
import { retryDelay } from './retries.ts';

export interface CallToolPorts extends AnswerPorts, CallEndPorts, CallDecisionPorts {
  ledger: Pick<ToolLedger, 'open' | 'start' | 'end' | 'answer' | 'park' | 'resume' | 'release' | 'decide'>;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  /** Executes the call. Reports the tool's own failure in the outcome; throws if its source is unreachable. */
  perform(call: OpenCall, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
  parkBehind: ParkBehind;
  /** The time a run waits for the client that executes a call. */
  client_wait_ms: number;
  /** Keeps the files of this attempt of a call and no others, or drops them if the record has not accepted its result. */
  settleFiles(call: OpenCall, is_accepted: boolean): Promise<void>;
  isUnreachable(error: unknown): error is Error & { reached: boolean };
  /** True if the tool may have had its effect, and a repetition could have it a second time. */
  isUncertain(error: unknown): error is Error;
}

/**
 * Executes one call, or asks a person what to do about it. `seen`: what the run has seen of the call before. Returns `waiting` if the
 * ledger waits for a decision, and `behind` if the run does.
 */
export const callToolActivity =
  (ports: CallToolPorts) =>
  (task_id: string, call_id: string, seen?: CallSeen): Promise<CallState> =>
    runAttempt(ports.halts, task_id, (signal, heartbeat) =>
      callStep(ports, { task_id, call_id, brief: Context.current().info.isLocal, seen, heartbeat }, signal),
    );

/** The outcome of an attempt. With `client_ms`, the call waits that long for its client. */
type CallState = 'done' | 'waiting' | 'behind' | { client_ms: number };

/**
 * Executes a call, independent of the engine. A brief call is not recorded as started at its first attempt. If it is lost before
 * its end is written, the next attempt may repeat it: all brief calls are of tools whose repetition changes nothing more.
 */
export async function callStep(
  ports: CallToolPorts,
  { task_id, call_id, brief = false, seen, heartbeat = { last: null } }: CallOrder,
  signal: AbortSignal,
): Promise<CallState> {
  const before = seen ?? (heartbeat.last === BEGUN ? BEGUN : null);
  const call = await ports.ledger.open(task_id, call_id);
  if (!call || isTerminal(call.task_status)) throw taskEnded(task_id, call?.task_status);
  const start = (started_call: OpenCall) => {
    if (!brief) heartbeat.last = BEGUN;
    return execute(ports, started_call, signal);
  };
  if (call.halt_requested) throw haltFailure();
  const missing = findCallGap(call_id, call, before);
  if (missing) return parkRunBehind(ports, call, missing);
  if (await answerFromRecord(ports, call)) return 'done';
  switch (decideMove(call)) {
    case 'nothing':
      return 'done';
    case 'ask_approval':
      if (await isOfClient(ports, call)) {
        await parkCall(ports, call, 'waiting_client');
        return { client_ms: ports.client_wait_ms };
      }
      // Nobody is asked about a call that is refused in any case.
      return 'refusal' in parseArguments(call.arguments) ? run(ports, call, start) : parkCall(ports, call, 'waiting_approval');
    case 'ask_reconciliation':
      return parkCall(ports, call, 'waiting_reconciliation');
    case 'settle':
      return writeDecision(ports, call);
    case 'run':
      return brief && isFresh(call) ? start(call) : run(ports, call, start);
  }
}

const BEGUN: CallSeen = 'begun';

interface CallOrder {
  task_id: string;
  call_id: string;
  brief?: boolean;
  seen?: CallSeen | undefined;
  heartbeat?: Noted;
}

/** True if nobody was asked about the call and its run waits for nothing. */
const isFresh = ({ status, attempts, task_status }: OpenCall) =>
  status === 'planned' && attempts === 0 && task_status === 'running';

/** True if the run's client executes the call. Such calls need an approval, so they are never started here. */
const isOfClient = async ({ definition }: CallToolPorts, { definition_hash, name }: OpenCall) =>
  listClientTools(await definition(definition_hash)).includes(name);

async function run(
  ports: CallToolPorts,
  call: OpenCall,
  start: (started_call: OpenCall) => Promise<CallState>,
): Promise<CallState> {
  const started = await ports.ledger.start(call, [buildStartEvent(ports, call)]);
  if (!started) throw staleAttempt();
  await resumeRun(ports, call);
  return start(started);
}

function buildStartEvent({ now }: CallToolPorts, { task_id, call_id, name, arguments: args, attempts }: OpenCall): NewEvent {
  const again = attempts > 0 ? { attempt: attempts + 1 } : {};
  return createTaskEvents(task_id, now).log('tool_call', name, { call_id, name, arguments: args, ...again });
}

async function execute(ports: CallToolPorts, started: OpenCall, signal: AbortSignal): Promise<CallState> {
  const start = performance.now();
  const start_events = started.status === 'planned' ? [buildStartEvent(ports, started)] : [];
  try {
    const outcome = await keepFilesOf(ports, { call: started, outcome: await toolOutcome(ports, started, signal) }, signal);
    const result: CallResult = {
      ...outcome,
      kind: 'result',
      duration_ms: Math.round(performance.now() - start),
      pending_events: start_events,
    };
    const settleFiles = async (is_accepted: boolean) => {
      if (outcome.extra?.files) await ports.settleFiles(started, is_accepted);
    };
    if (await retryWhileDown(() => endCall(ports, started, result), signal)) {
      await settleFiles(true);
      return 'done';
    }
    await settleFiles(await decideLate(ports, started, outcome));
    return await recheckCall(ports, started);
  } catch (error) {
    if (!signal.aborted && ports.isUncertain(error)) return parkCall(ports, started, 'waiting_reconciliation', error.message);
    if (signal.aborted || !ports.isUnreachable(error)) throw error;
    throw await noteUnreachable(ports, started, { error, signal });
  }
}

/**
 * Reads a call again after its result was refused. Either an earlier try has written the result, or another attempt has changed
 * the call, or the record has lost the beginning of this attempt.
 */
async function recheckCall(ports: CallToolPorts, started: OpenCall): Promise<'done' | 'behind'> {
  const { task_id, call_id, attempts } = started;
  const call = await ports.ledger.open(task_id, call_id);
  if (call?.status === 'done' || call?.status === 'denied') return 'done';
  if (!call || isTerminal(call.task_status) || (call.known && call.attempts >= attempts)) throw staleAttempt();
  return parkRunBehind(ports, call, findCallGap(call_id, call, BEGUN) ?? `the last attempt of the call ${call_id}`);
}

async function toolOutcome(ports: CallToolPorts, call: OpenCall, signal: AbortSignal): Promise<ToolOutcome> {
  const read = parseArguments(call.arguments);
  return 'refusal' in read ? { content: read.refusal, failed: true } : ports.perform(call, read.arguments, signal);
}

/**
 * The time between attempts of a call whose workspace or token the installation cannot provide now. The number of attempts is not
 * limited.
 */
const HELD_MS = 5_000;

async function noteUnreachable(
  ports: CallToolPorts,
  call: OpenCall,
  { error, signal }: { error: Error & { reached: boolean }; signal: AbortSignal },
): Promise<ApplicationFailure> {
  const is_outage = findOutage(error) !== null;
  const { final, delay_ms } = is_outage
    ? { final: false, delay_ms: HELD_MS }
    : retryDelay({ recoverable: true }, { errors: call.errors });
  const { log } = createTaskEvents(call.task_id, ports.now);
  const retried = log('retry', storable(error.message), { call_id: call.call_id, wait_ms: delay_ms });
  const released = { reached: error.reached, is_outage, events: final ? [] : [retried] };
  if (!(await retryWhileDown(() => ports.ledger.release(call, released), signal))) return staleAttempt();
  return ApplicationFailure.create({
    message: error.message,
    type: is_outage ? 'outage' : 'tool_unreachable',
    nonRetryable: final,
    nextRetryDelay: delay_ms,
  });
}
