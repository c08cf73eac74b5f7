import type { Attachment } from '../../contracts/attachments.ts';
import type { AnyLogFields, LogData, RunEvent } from '../../contracts/events.ts';
import type { LogName } from '../../contracts/log-events.ts';
import type { CallQuestion } from '../../contracts/questions.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { doingAfter, type RunActivity } from './run-now.ts';

export interface CallBlock {
  kind: 'call';
  call_id: string;
  name: string;
  arguments: string;
  state:
    | 'planned'
    | 'running'
    | 'done'
    | 'denied'
    | 'stopped'
    | 'waiting_approval'
    | 'waiting_reconciliation'
    | 'waiting_client'
    | 'waiting_answer';
  failed: boolean;
  /** A person is asked about it because the installation was restored. */
  restored: boolean;
  /** Why nobody knows its outcome, if it is neither a restore nor a lost worker. */
  cause: string | null;
  /** Images, sounds and other files of its result. */
  files: readonly Attachment[];
  /** What its tool asks a person, while it waits for an answer. */
  question: CallQuestion | null;
  result: string | null;
  progress: string | null;
  stdout: string | null;
  stderr: string | null;
  duration_ms: number | null;
}

interface TextBlock {
  kind: 'text';
  role: string;
  text: string;
  /** For a message that a person sent while the run worked: the step that read it, and its id. */
  step?: number | undefined;
  message_id?: string | undefined;
}

export type Block = TextBlock | { kind: 'reasoning'; text: string } | { kind: 'note'; event: string; text: string } | CallBlock;

export interface LogLine {
  event: string;
  detail: string;
  timestamp: string;
  /** The budget above the run that it waits for. */
  budget_id?: string;
}

export interface LiveRun {
  status: string | null;
  turn: number;
  usage: {
    total_in: number;
    total_out: number;
    cost: number | null;
    priced?: boolean;
    cache_read: number;
    cache_write: number;
    estimated?: boolean;
  } | null;
  blocks: Block[];
  /** Text of the current attempt. A reset clears it; the complete message replaces it. */
  partial: string;
  logs: LogLine[];
  /** What the record lacks, while a person has to decide whether the run is resumed from it. */
  behind: string | null;
  /** What the run is doing now. */
  doing: RunActivity[];
}

export const emptyRun: LiveRun = {
  status: null,
  turn: 0,
  usage: null,
  blocks: [],
  partial: '',
  logs: [],
  behind: null,
  doing: [],
};

/** Tool calls so far. Between two changes of its status, the stream has only the calls. */
export const countTurns = ({ turn, blocks }: Pick<LiveRun, 'turn' | 'blocks'>): number =>
  Math.max(turn, blocks.filter((block) => block.kind === 'call' && block.state !== 'planned' && block.state !== 'denied').length);

/** The state of the run after further events. */
export function applyEvents(state: LiveRun, events: readonly RunEvent[]): LiveRun {
  const next: LiveRun = { ...state, blocks: [...state.blocks], logs: [...state.logs] };
  for (const event of events) applyEvent(next, event);
  return next;
}

function applyEvent(run: LiveRun, event: RunEvent): void {
  const { type, data, timestamp } = event;
  if (type === 'message_delta') run.partial += data.delta;
  else if (type === 'usage') run.usage = data;
  else if (type === 'status') {
    run.status = data.status;
    run.turn = data.current_turn;
    if (isTerminal(data.status)) stop(run);
  } else if (type === 'message') applyMessage(run, data);
  else if (type === 'log') {
    // The installation was restored: the whole run follows.
    if (data.event === 'stream_reset') Object.assign(run, emptyRun, { blocks: [], logs: [] });
    run.doing = doingAfter(run.doing, event);
    const { budget_id }: AnyLogFields = data;
    run.logs.push({ event: data.event, detail: data.detail, timestamp, ...(budget_id && { budget_id }) });
    applyLog(run, data);
  }
}

/** A call that has no outcome when the run ends was stopped with it. */
function stop(run: LiveRun): void {
  run.doing = [];
  const isOpen = ({ state }: CallBlock) => state === 'running' || state.startsWith('waiting');
  run.blocks = run.blocks.map((block) => (block.kind === 'call' && isOpen(block) ? { ...block, state: 'stopped' } : block));
}

type Message = Extract<RunEvent, { type: 'message' }>['data'];

function applyMessage(run: LiveRun, message: Message): void {
  const { role, content, reasoning, call_id = '', tool_calls = [], step, message_id } = message;
  if (role === 'tool') {
    change(run, call_id, { result: content });
    return;
  }
  if (role === 'assistant') run.partial = '';
  if (reasoning) run.blocks.push({ kind: 'reasoning', text: reasoning });
  if (content) run.blocks.push({ kind: 'text', role, text: content, ...(role === 'user' && { step, message_id }) });
  for (const call of tool_calls) addCall(run, call);
}

function addCall(run: LiveRun, { call_id, name, arguments: args }: Pick<CallBlock, 'call_id' | 'name' | 'arguments'>): void {
  if (run.blocks.some((block) => block.kind === 'call' && block.call_id === call_id)) return;
  run.blocks.push({
    kind: 'call',
    call_id,
    name,
    arguments: args,
    state: 'planned',
    failed: false,
    restored: false,
    cause: null,
    files: [],
    question: null,
    result: null,
    progress: null,
    stdout: null,
    stderr: null,
    duration_ms: null,
  });
}

function change(run: LiveRun, call_id: string, facts: Partial<CallBlock>): void {
  run.blocks = run.blocks.map((block) => (block.kind === 'call' && block.call_id === call_id ? { ...block, ...facts } : block));
}

/** Log events that the conversation shows with their detail. */
const NOTES: LogName[] = [
  'retry',
  'rate_limited',
  'fallback',
  'fallback_ended',
  'goal_reminder',
  'compaction',
  'budget_exhausted',
  'unpriced_model',
  'guardrail_blocked',
  'mcp_error',
  'output_guardrail_violation',
  'output_rejected',
  'approval_decided',
  'question_answered',
  'reconciliation_decided',
  'record_behind',
  'continuity_decided',
  'attempt_reset',
  'repo_synced',
  'halted',
  'memory_stored',
  'memory_loaded',
  'knowledge_loaded',
  'forked',
  'tools_not_offered',
  'message_passed_on',
  'message_refused',
];

/** Log events that the conversation shows in another way, or not at all. */
const NOT_NOTES: LogName[] = [
  'prompt_received',
  'run_started',
  'context_built',
  'model_call',
  'model_response',
  'tool_call',
  'tool_result',
  'tool_denied',
  'approval_requested',
  'reconciliation_requested',
  'client_call_requested',
  'client_call_answered',
  'question_asked',
  'message_waiting',
  'message_withdrawn',
  'mcp_connected',
  'progress',
  'completed',
  'error',
  'stream_reset',
];

function applyLog(run: LiveRun, data: LogData): void {
  const { event, call_id }: LogData & AnyLogFields = data;
  if (data.event === 'attempt_reset') run.partial = '';
  if (data.event === 'record_behind') run.behind = data.missing;
  if (data.event === 'continuity_decided') run.behind = null;
  if (event === 'attempt_reset' && isRetryNote(run.blocks.at(-1))) return;
  if (NOTES.includes(event)) run.blocks.push({ kind: 'note', event, text: describeNote(data) });
  else if (!NOT_NOTES.includes(event)) run.blocks.push({ kind: 'note', event, text: describeLog(data) });
  if (data.event === 'tool_call') {
    addCall(run, data);
    change(run, data.call_id, { state: 'running', question: null });
  }
  const facts = toCallFacts(data);
  if (facts && call_id) change(run, call_id, facts);
}

/** Returns the text of a note: its detail, and for a decision who made it and what they wrote to the model. */
function describeNote(data: LogData): string {
  if (data.event !== 'approval_decided' || !data.by) return data.detail;
  const { by, decision, message } = data;
  return `${by} ${decision === 'deny' ? 'denied' : 'approved'} the call${message ? `: ${message}` : ''}`;
}

/** True for a note after which it goes without saying that the step begins again. */
const isRetryNote = (block: Block | undefined) =>
  block?.kind === 'note' && ['retry', 'rate_limited', 'fallback'].includes(block.event);

/** An event that this page does not know is shown with all its fields. */
function describeLog({ event: _, detail, ...fields }: LogData): string {
  const texts = Object.entries(fields).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return texts.length > 0 ? `${detail} (${texts.join(', ')})` : detail;
}

function toCallFacts(data: LogData): Partial<CallBlock> | null {
  switch (data.event) {
    case 'tool_result': {
      const { failed, duration_ms = null, stdout = null, stderr = null, files = [], result } = data;
      return { state: 'done', failed, duration_ms, stdout, stderr, files, ...(result === undefined ? {} : { result }) };
    }
    case 'tool_denied':
      return { state: 'denied', failed: true, result: data.detail };
    case 'approval_requested':
      return { state: 'waiting_approval' };
    case 'reconciliation_requested':
      return { state: 'waiting_reconciliation', restored: data.restored, cause: data.cause ?? null, question: null };
    case 'client_call_requested':
      return { state: 'waiting_client' };
    case 'question_asked':
      return { state: 'waiting_answer', question: data.question };
    case 'question_answered':
      return { state: 'running', question: null };
    case 'client_call_answered':
    case 'approval_decided':
    case 'reconciliation_decided':
      return { state: 'planned' };
    case 'progress':
      return { progress: data.detail };
    default:
      return null;
  }
}
