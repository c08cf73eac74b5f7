import type { AnyLogFields } from '../../contracts/events.ts';
import type { LogName } from '../../contracts/log-events.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { toShownCost } from '../../domain/usage.ts';
import type { RecordedLog, RecordedStatus } from './recorded-events.ts';

/** A period of a run: a model call, a tool call, a retry or a wait. */
export interface TimelineSpan {
  /** The step's number for a model call, the call's id for a tool call; unique in the run. */
  id: string;
  /** The id of the span that it belongs to. */
  parent: string | null;
  kind: 'model' | 'tool' | 'retry' | 'wait';
  step: number;
  /** The name of the model or the tool, the error before a retry, or the subject of a person's decision. */
  name: string;
  status: 'planned' | 'running' | 'waiting' | 'completed' | 'failed' | 'denied' | 'halted';
  attempts: number;
  detail: string | null;
  /** True if the span was copied from the source run of a fork; its times are those of the source run. */
  copied: boolean;
  /** The start; null: not started. */
  start: string | null;
  /** The end; null: not ended. */
  end: string | null;
  /** What a model call used; null for everything else, and until the model has answered. */
  usage: { total_in: number; total_out: number; cost: number | null; priced: boolean; estimated: boolean } | null;
}

interface TimedTask {
  status: string;
  completed_at: Date | null;
  fork_step: number | null;
}

interface TimedStep {
  step: number;
  model: string | null;
  attempts: number;
  error: string | null;
  started_at: Date;
  ended_at: Date | null;
  total_in: number;
  total_out: number;
  cost: number;
  unpriced: boolean;
  estimated: boolean;
  /** The earlier models of the step, as they are stored; null: none. */
  passed_on: unknown;
}

type Flags = Pick<TimedStep, 'unpriced' | 'estimated'>;

/** Returns the flags of a whole step: those of its row are of the last model alone. */
export function mergeFlags({ passed_on, ...last }: Flags & Pick<TimedStep, 'passed_on'>): Flags {
  const parts = [last, ...((passed_on ?? []) as Flags[])];
  return { unpriced: parts.some(({ unpriced }) => unpriced), estimated: parts.some(({ estimated }) => estimated) };
}

interface TimedCall {
  call_id: string;
  step: number;
  name: string;
  status: string;
  failed: boolean | null;
  attempts: number;
  started_at: Date | null;
  ended_at: Date | null;
}

export type TimedLog = RecordedLog<(typeof TIMED_LOGS)[number]>;
export type TimedEvent = TimedLog | RecordedStatus;

interface RunTimes {
  task: TimedTask;
  /** The steps in order, as are the calls and events. */
  steps: TimedStep[];
  calls: TimedCall[];
  events: TimedEvent[];
}

/** The log events that `buildTimeline` reads, in addition to changes of status. */
export const TIMED_LOGS = [
  'tool_call',
  'retry',
  'rate_limited',
  'fallback',
  'approval_requested',
  'approval_decided',
  'reconciliation_requested',
  'reconciliation_decided',
  'client_call_requested',
  'client_call_answered',
  'question_asked',
  'question_answered',
  'budget_exhausted',
  'unpriced_model',
  'record_behind',
  'continuity_decided',
] as const satisfies LogName[];

/** Returns the spans of a run in the order of its record, each one followed by those that belong to it. */
export function buildTimeline({ task, steps, calls, events }: RunTimes): TimelineSpan[] {
  const pauses = Map.groupBy(listPauses({ task, steps, calls, events }), ({ parent }) => parent);
  const callsByStep = Map.groupBy(calls, ({ step }) => step);
  const firstStarts = findFirstStarts(events);
  const withPauses = (span: TimelineSpan) => [span, ...(pauses.get(span.id) ?? [])];
  const spans = steps.flatMap((step) => [
    ...withPauses(modelSpan(step, task)),
    ...(callsByStep.get(step.step) ?? []).flatMap((call) => withPauses(callSpan(call, task, firstStarts.get(call.call_id)))),
  ]);
  return [...spans, ...(pauses.get(null) ?? [])];
}

const isCopied = (step: number, { fork_step }: TimedTask) => step < (fork_step ?? 0);
const findEndTime = (at: Date | null, { completed_at }: TimedTask) => (at ?? completed_at)?.toISOString() ?? null;

function modelSpan(row: TimedStep, task: TimedTask): TimelineSpan {
  const { step, model, attempts, error, started_at, ended_at, total_in, total_out, cost } = row;
  const { unpriced, estimated } = mergeFlags(row);
  return {
    id: String(step),
    parent: null,
    kind: 'model',
    step,
    name: model ?? 'model',
    status: ended_at ? 'completed' : openStatus(task),
    attempts,
    detail: ended_at ? null : error,
    copied: isCopied(step, task),
    start: started_at.toISOString(),
    end: findEndTime(ended_at, task),
    usage: ended_at && { total_in, total_out, cost: toShownCost(cost, unpriced), priced: !unpriced, estimated },
  };
}

/** Returns the status of the span in progress: if the run has ended, the span ended with it. */
function openStatus({ status }: TimedTask): TimelineSpan['status'] {
  if (isTerminal(status)) return status;
  return status === 'waiting' ? 'waiting' : 'running';
}

function callSpan(call: TimedCall, task: TimedTask, firstStart: string | undefined): TimelineSpan {
  const { call_id, step, name, attempts, started_at, ended_at } = call;
  const start = started_at?.toISOString() ?? null;
  return {
    id: call_id,
    parent: String(step),
    kind: 'tool',
    step,
    name,
    status: callStatus(call, task),
    attempts,
    detail: null,
    copied: isCopied(step, task),
    // The record of a call keeps the start of its last attempt only.
    start: (attempts > 1 ? firstStart : null) ?? start,
    end: start === null && ended_at === null ? null : findEndTime(ended_at, task),
    usage: null,
  };
}

function callStatus({ status, failed, step, ended_at }: TimedCall, task: TimedTask): TimelineSpan['status'] {
  const closedByEnd = ended_at !== null && ended_at.getTime() === task.completed_at?.getTime() && !isCopied(step, task);
  if (closedByEnd && (task.status === 'failed' || task.status === 'halted')) return task.status;
  if (status === 'done') return failed ? 'failed' : 'completed';
  if (status === 'denied') return 'denied';
  if (status.startsWith('waiting')) return 'waiting';
  return status === 'started' ? 'running' : 'planned';
}

function findFirstStarts(events: readonly TimedEvent[]): Map<string, string> {
  const starts = new Map<string, string>();
  for (const { type, data, timestamp } of events) {
    if (type === 'log' && data.event === 'tool_call' && !starts.has(data.call_id))
      starts.set(data.call_id, timestamp.toISOString());
  }
  return starts;
}

/** The log event that ends each kind of wait for a person. */
const DECIDED: { [N in LogName]?: LogName } = {
  approval_requested: 'approval_decided',
  reconciliation_requested: 'reconciliation_decided',
  client_call_requested: 'client_call_answered',
  question_asked: 'question_answered',
  record_behind: 'continuity_decided',
};

const WAITS_FOR: { [N in LogName]?: string } = {
  approval_requested: 'approval',
  reconciliation_requested: 'reconciliation',
  client_call_requested: 'the client',
  question_asked: 'an answer',
  record_behind: 'a decision after a restore',
  budget_exhausted: 'budget',
  unpriced_model: 'a price',
};

/** The events of a budget, which may halt the run instead. */
const HALTING: LogName[] = ['budget_exhausted', 'unpriced_model'];

function listPauses({ task, steps, events }: RunTimes): TimelineSpan[] {
  return events.flatMap((event, index) => {
    if (event.type === 'status') return [];
    if (isRetry(event)) return [retrySpan(event, steps, task)];
    const name = WAITS_FOR[event.data.event];
    if (name === undefined) return [];
    const rest = events.slice(index + 1);
    // With `on_exhausted: halt`, a budget that is used up does not make the run wait.
    if (HALTING.includes(event.data.event) && findStatusChange(rest)?.data.status !== 'waiting') return [];
    const over = findWaitEnd(event, rest);
    return [
      {
        ...toPauseBase(event, steps, task),
        kind: 'wait' as const,
        name,
        status: over ? ('completed' as const) : openStatus(task),
        end: findEndTime(over?.timestamp ?? null, task),
      },
    ];
  });
}

const findStatusChange = (events: readonly TimedEvent[]) => events.find((event) => event.type === 'status');

function findWaitEnd({ data }: TimedLog, later: readonly TimedEvent[]): TimedEvent | undefined {
  const decided = DECIDED[data.event];
  if (decided)
    return later.find(
      (event) => event.type === 'log' && event.data.event === decided && getCallId(event) === getCallId({ data }),
    );
  return later.find(({ type, data: change }) => type === 'status' && change.status !== 'waiting');
}

const getCallId = ({ data }: Pick<TimedLog, 'data'>) => (data as AnyLogFields).call_id;

const RETRIES = ['retry', 'rate_limited', 'fallback'] as const satisfies LogName[];
type Retry = RecordedLog<(typeof RETRIES)[number]>;
const isRetry = (event: TimedLog): event is Retry => RETRIES.some((name) => name === event.data.event);

function retrySpan(event: Retry, steps: readonly TimedStep[], task: TimedTask): TimelineSpan {
  const { error_code, event: name, wait_ms = 0 }: AnyLogFields & Retry['data'] = event.data;
  const due = event.timestamp.getTime() + wait_ms;
  const end = new Date(Math.min(due, task.completed_at?.getTime() ?? due));
  return {
    ...toPauseBase(event, steps, task),
    kind: 'retry',
    name: error_code ?? name,
    status: 'completed',
    end: end.toISOString(),
  };
}

/** Returns the fields that all pauses have in common; a pause without a call or step belongs to the step in progress. */
function toPauseBase({ seq, data, timestamp }: TimedLog, steps: readonly TimedStep[], task: TimedTask) {
  const { call_id, step: own_step }: AnyLogFields = data;
  const current_step = steps.findLast(({ started_at }) => started_at <= timestamp)?.step ?? 0;
  const step = call_id ? Number.parseInt(call_id, 10) : (own_step ?? current_step);
  const known = call_id !== undefined || steps.some((other) => other.step === step);
  return {
    id: `${call_id ?? step}.${seq}`,
    parent: known ? (call_id ?? String(step)) : null,
    step,
    attempts: 1,
    detail: data.detail,
    copied: isCopied(step, task),
    start: timestamp.toISOString(),
    usage: null,
  };
}

/** Sums how long the run was in the status `waiting`, from its start to `until`, in milliseconds. */
export function sumWaitingMs(changes: readonly Pick<RecordedStatus, 'data' | 'timestamp'>[], until: Date): number {
  return changes.reduce((sum, { data, timestamp }, index) => {
    if (data.status !== 'waiting') return sum;
    const end = changes[index + 1]?.timestamp ?? until;
    return sum + Math.max(0, end.getTime() - timestamp.getTime());
  }, 0);
}
