import type { LogData, RunEvent } from '../../../contracts/events.ts';
import type { LogName } from '../../../contracts/log-events.ts';
import { piecesOfText } from '../../../domain/pieces.ts';
import { isTerminal } from '../../../domain/statuses.ts';
import { createTextDigest, PIECE } from '../runs.ts';
import type { AskedCall, RunPart, RunUsage } from './parts.ts';
import { type CallRules, createCallTracker, isOfCall } from './track-calls.ts';
import { createReceiptTracker, type ReceiptRules } from './track-receipts.ts';
import { createWaitTracker } from './track-waits.ts';

type DataOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>['data'];

/** Log events of which a front end shows the sentence while they happen. */
const NOTICES: LogName[] = [
  'fallback',
  'fallback_ended',
  'compaction',
  'context_window_full',
  'guardrail_blocked',
  'output_guardrail_violation',
  'output_rejected',
  'budget_warning',
  'mcp_error',
  'tools_not_offered',
  'setting_left_out',
];

/** Converts the events of a run into parts, in order. Text that is sent again is part of the run once. */
export function createRunTracker(rules: CallRules & ReceiptRules) {
  const calls = createCallTracker(rules);
  const waits = createWaitTracker();
  const receipts = createReceiptTracker(rules);
  const text = createTextDigest();
  let step = 0;
  let status: DataOf<'status'>['status'] = 'pending';
  let truncated = false;

  function beginStep(next: number | undefined): RunPart[] {
    if (next === undefined ? step > 0 : next === step) return [];
    step = next ?? 1;
    calls.beginRound();
    text.clear();
    return [{ kind: 'step', step }];
  }

  function reset(): RunPart[] {
    if (text.isEmpty()) return [];
    text.clear();
    return [{ kind: 'reset', step }];
  }

  function write(delta: string): RunPart[] {
    if (delta === '') return [];
    text.add(delta);
    return [...piecesOfText(delta, PIECE)].map((piece) => ({ kind: 'text', step, delta: piece }));
  }

  function readReply({ content, reasoning, step: of_step, tool_calls = [], ...data }: DataOf<'message'>): RunPart[] {
    truncated = data.truncated === true;
    const begun = beginStep(of_step);
    const rest = text.findRest(content);
    const written = rest === null ? [...reset(), ...write(content)] : write(rest);
    const ended: RunPart[] = text.isEmpty() ? [] : [{ kind: 'text_end', step }];
    text.clear();
    return [
      ...begun,
      ...waits.answer(),
      ...(reasoning ? [{ kind: 'reasoning' as const, step, text: reasoning }] : []),
      ...written,
      ...ended,
      ...calls.plan(step, tool_calls),
    ];
  }

  function readMessage(data: DataOf<'message'>): RunPart[] {
    const { role, content, call_id, message_id } = data;
    if (role === 'assistant') return readReply(data);
    if (role === 'tool' && call_id) return [...waits.endCall(call_id), ...calls.readMessage(call_id, content)];
    if (role !== 'user' || message_id === undefined) return [];
    return [{ kind: 'steer', id: message_id, text: content }, ...receipts.steer(message_id, data.step ?? step + 1)];
  }

  function readLog(data: LogData, at: string): RunPart[] {
    if (data.event === 'stream_reset') return [{ kind: 'restored', detail: data.detail }];
    if (data.event === 'model_call') return beginStep(data.step);
    if (data.event === 'attempt_reset') return reset();
    if (data.event === 'progress') {
      const { detail, call_id, progress, total, todos } = data;
      return todos ? [{ kind: 'todos', todos }] : [{ kind: 'progress', detail, call_id, progress, total }];
    }
    if (NOTICES.includes(data.event)) return [{ kind: 'notice', event: data.event, detail: data.detail }];
    const of_call = isOfCall(data) ? calls.read(step, data) : [];
    return [...of_call, ...waits.read(data, at), ...receipts.read(data)];
  }

  function readStatus(data: DataOf<'status'>): RunPart[] {
    status = data.status;
    calls.countTurns(data.current_turn);
    if (status === 'running') return [...waits.resume(), ...receipts.begin()];
    if (!isTerminal(status)) return [];
    const unfinished: RunPart[] = text.isEmpty() ? [] : [{ kind: 'text_end', step }];
    text.clear();
    const { error = null, error_code = null } = data;
    const over = [...unfinished, ...waits.endAll(), ...calls.endAll(), ...receipts.end(status, error)];
    return [...over, { kind: 'end', status, error, error_code, truncated }];
  }

  return {
    /** Returns the parts that an event adds. */
    read({ type, data, timestamp }: RunEvent): RunPart[] {
      if (type === 'message_delta') return [...beginStep(undefined), ...waits.answer(), ...write(data.delta)];
      if (type === 'message') return readMessage(data);
      if (type === 'log') return readLog(data, timestamp);
      if (type === 'usage') return [{ kind: 'usage', usage: toUsage(data) }];
      return readStatus(data);
    },
    /** Returns the calls that a run at rest waits for; null if the run is not at rest, because something of it is in progress. */
    findRest(): AskedCall[] | null {
      const asked = status === 'waiting' ? calls.listAsked() : null;
      return asked?.length ? asked : null;
    },
  };
}

const toUsage = ({ total_in, total_out, cache_read, cache_write, cost }: DataOf<'usage'>): RunUsage => ({
  input_tokens: total_in,
  output_tokens: total_out,
  cache_read,
  cache_write,
  cost,
});
