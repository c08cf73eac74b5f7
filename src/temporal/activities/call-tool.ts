import { ApplicationFailure, Context } from '@temporalio/activity';
import { parseArguments } from '../../domain/arguments.ts';
import type { AttachedFile } from '../../domain/attachments.ts';
import { type CallSeen, findCallGap } from '../../domain/continuity.ts';
import { type Definition, listClientTools } from '../../domain/definition.ts';
import { type CallDecision, decideMove, type WaitingCall } from '../../domain/effects.ts';
import { findOutage } from '../../domain/outages.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { ResultExtra } from '../../domain/tool-choice.ts';
import { storable } from '../../domain/transcript.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { OpenCall, ToolLedger } from '../../store/runs/tool-ledger.ts';
import type { ToolFile, ToolOutcome } from '../../tools/source.ts';
import { type AnswerPorts, answerFromRecord } from './answer-call.ts';
import { type Halts, haltFailure, type Noted, retryWhileDown, runAttempt, staleAttempt, taskEnded } from './attempt.ts';
import { type ParkBehind, parkRunBehind } from './continuity.ts';
import { retryDelay } from './retries.ts';

/** Stores the files of a call's result. Those that are too large, or for which the owner has no room, are refused with the reason. */
type KeepFiles = (
  call: OpenCall,
  files: readonly ToolFile[],
) => Promise<{ kept: AttachedFile[]; refused: { name: string; reason: string }[] }>;

export interface CallToolPorts extends AnswerPorts {
  ledger: Pick<ToolLedger, 'open' | 'start' | 'end' | 'answer' | 'park' | 'resume' | 'release' | 'decide'>;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  /** Executes the call. Reports the tool's own failure in the outcome; throws if its source is unreachable. */
  perform(call: OpenCall, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
  parkBehind: ParkBehind;
  /** The time a run waits for the client that executes a call. */
  client_wait_ms: number;
  /** Notifies the run that there is a decision about one of its calls. */
  nudge(task_id: string, call_id: string): Promise<unknown>;
  /** Keeps the files of a result for the run's owner. */
  keepFiles: KeepFiles;
  /** Keeps the files of this attempt of a call and no others, or drops them if the record has not accepted its result. */
  settleFiles(call: OpenCall, is_accepted: boolean): Promise<void>;
  isUnreachable(error: unknown): error is Error & { reached: boolean };
  /** True if the tool may have had its effect, and a repetition could have it a second time. */
  isUncertain(error: unknown): error is Error;
  now(): string;
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
        await park(ports, call, 'waiting_client');
        return { client_ms: ports.client_wait_ms };
      }
      // Nobody is asked about a call that is refused in any case.
      return 'refusal' in parseArguments(call.arguments) ? run(ports, call, start) : park(ports, call, 'waiting_approval');
    case 'ask_reconciliation':
      return park(ports, call, 'waiting_reconciliation');
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
  await resume(ports, call);
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
    const result: Result = {
      ...outcome,
      kind: 'result',
      duration_ms: Math.round(performance.now() - start),
      pending_events: start_events,
    };
    const settleFiles = async (is_accepted: boolean) => {
      if (outcome.extra?.files) await ports.settleFiles(started, is_accepted);
    };
    if (await retryWhileDown(() => end(ports, started, result), signal)) {
      await settleFiles(true);
      return 'done';
    }
    await settleFiles(await decideLate(ports, started, outcome));
    return await recheckCall(ports, started);
  } catch (error) {
    if (!signal.aborted && ports.isUncertain(error)) return park(ports, started, 'waiting_reconciliation', error.message);
    if (signal.aborted || !ports.isUnreachable(error)) throw error;
    throw await noteUnreachable(ports, started, { error, signal });
  }
}

/** Resumes the run if this was the last of its calls that waited for a person, or if the run itself waited. */
async function resume(ports: CallToolPorts, call: OpenCall): Promise<void> {
  if (!call.status.startsWith('waiting') && call.task_status !== 'waiting') return;
  await ports.ledger.resume(call, [createTaskEvents(call.task_id, ports.now).status('running', call.turns)]);
}

/**
 * Writes the result of a tool that ended on a worker considered lost. If a person is being asked for its outcome, this answers
 * the question. Returns true if it does.
 */
async function decideLate(ports: CallToolPorts, call: OpenCall, { content, failed, extra }: Kept): Promise<boolean> {
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

/** An outcome whose files are kept. */
interface Kept extends Omit<ToolOutcome, 'files'> {
  extra?: ResultExtra;
}

/** Keeps the files of an outcome. Its text then names those that were not kept, with the reason. */
async function keepFilesOf(
  { keepFiles }: CallToolPorts,
  { call, outcome: { files, ...outcome } }: { call: OpenCall; outcome: ToolOutcome },
  signal: AbortSignal,
): Promise<Kept> {
  if (!files?.length) return outcome;
  const { kept, refused } = await retryWhileDown(() => keepFiles(call, files), signal);
  const notes = refused.map(({ name, reason }) => `[${name} was not kept: ${reason}]`);
  return { ...outcome, content: [outcome.content, ...notes].join('\n'), ...(kept.length > 0 && { extra: { files: kept } }) };
}

interface Result extends Omit<ToolOutcome, 'files'> {
  kind: 'result' | 'denial';
  duration_ms?: number;
  extra?: ResultExtra | null;
  /** Events of the attempt that are not published yet. */
  pending_events?: NewEvent[];
}

async function end(
  ports: CallToolPorts,
  call: OpenCall,
  { content, failed, kind, stdout, stderr, duration_ms, isolation, todos, pending_events = [], extra = null }: Result,
): Promise<boolean> {
  const { log, message } = createTaskEvents(call.task_id, ports.now);
  const text = storable(content);
  const { call_id, name } = call;
  const facts = {
    call_id,
    name,
    failed,
    ...(duration_ms === undefined ? {} : { duration_ms }),
    ...(isolation ? { isolation } : {}),
    ...(extra?.files ? { files: extra.files } : {}),
  };
  const printed = { ...(stdout ? { stdout: storable(stdout) } : {}), ...(stderr ? { stderr: storable(stderr) } : {}) };
  const ended =
    kind === 'denial' ? log('tool_denied', text, { call_id, name }) : log('tool_result', name, { ...facts, ...printed });
  const done = todos?.filter(({ status }) => status === 'done').length;
  const progress = todos ? [log('progress', `${done} of ${todos.length} done`, { todos })] : [];
  return ports.ledger.end(call, {
    content: text,
    failed,
    kind,
    stdout: printed.stdout ?? null,
    stderr: printed.stderr ?? null,
    duration_ms: duration_ms ?? null,
    extra,
    todos,
    events: [...pending_events, ...progress, ended, message('tool', text, { call_id, name })],
  });
}

/** Pauses the run until a person decides about a call. `cause`: why nobody knows if the call took effect. */
async function park(ports: CallToolPorts, call: OpenCall, status: WaitingCall, cause?: string): Promise<'waiting'> {
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
async function writeDecision(ports: CallToolPorts, call: OpenCall): Promise<'done'> {
  if (!(await end(ports, call, toResult(call.decision as CallDecision)))) throw staleAttempt();
  await resume(ports, call);
  return 'done';
}

function toResult({ decision, message, result, forced_tools, files }: CallDecision): Result {
  const extra = forced_tools || files ? { ...(forced_tools && { forced_tools }), ...(files && { files }) } : null;
  if (decision === 'done') {
    const content = typeof result === 'string' ? result : JSON.stringify(result ?? null);
    return { content, failed: false, kind: 'result', extra };
  }
  if (decision === 'fail')
    return { content: message ?? 'The tool call failed; its outcome is unknown.', failed: true, kind: 'result', extra };
  return { content: `Denied by a person${message ? `: ${message}` : '.'}`, failed: true, kind: 'denial' };
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
