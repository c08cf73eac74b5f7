import type { LogData } from '../../../contracts/events.ts';
import type { LogName } from '../../../contracts/log-events.ts';
import { DENIAL, NOT_CALLED, OUTCOME_UNKNOWN } from '../../../domain/transcript.ts';
import type { Ask, AskedCall, Executor, PartCall, PartResult, RunPart } from './parts.ts';

type CallState = 'planned' | 'running' | 'ended' | Ask;

interface TrackedCall extends PartCall {
  state: CallState;
  detail: string;
  question: AskedCall['question'];
  denied_by_person: boolean;
  /** True if the run said that it does not make the call; its message follows. */
  is_denied: boolean;
  /** What is known of the result before its text: the message of the tool follows its log event. Null: nothing. */
  result: Omit<PartResult, 'content'> | null;
}

export interface CallRules {
  /** The names of the tools that the client executes. */
  client_tools: readonly string[];
  /** The tool call limit of the run; absent: unknown. */
  max_turns?: number | undefined;
}

const CALL_EVENTS = [
  'tool_call',
  'tool_result',
  'tool_denied',
  'approval_requested',
  'approval_decided',
  'client_call_requested',
  'client_call_answered',
  'reconciliation_requested',
  'reconciliation_decided',
  'question_asked',
  'question_answered',
] as const satisfies LogName[];
type CallEvent = LogData<(typeof CALL_EVENTS)[number]>;

export const isOfCall = (data: LogData): data is CallEvent => (CALL_EVENTS as readonly string[]).includes(data.event);

/** Tracks the calls of one round: what the run does with each, and which of them wait for an answer. */
export function createCallTracker({ client_tools, max_turns = Number.POSITIVE_INFINITY }: CallRules) {
  const calls = new Map<string, TrackedCall>();
  /** The number of calls that the run was allowed to make. */
  let turns = 0;

  function add(step: number, call: Omit<PartCall, 'executor'>, executor?: Executor): RunPart[] {
    if (calls.has(call.call_id)) return [];
    const whole = { ...call, executor: executor ?? (client_tools.includes(call.name) ? 'client' : 'worker') };
    calls.set(call.call_id, {
      ...whole,
      state: 'planned',
      detail: '',
      question: null,
      denied_by_person: false,
      is_denied: false,
      result: null,
    });
    return [{ kind: 'call', step, call: whole }];
  }

  /** Adds the calls of a reply. Those beyond the turn limit are never made: the run denies them when its next step begins. */
  function plan(step: number, requested: readonly Omit<PartCall, 'executor'>[]): RunPart[] {
    const left = Math.max(0, max_turns - turns);
    turns += Math.min(left, requested.length);
    return requested.flatMap((call, index) => [...add(step, call), ...(index < left ? [] : deny(call.call_id, DENIAL))]);
  }

  function end(call_id: string): TrackedCall | null {
    const call = calls.get(call_id);
    if (!call || call.state === 'ended') return null;
    calls.set(call_id, { ...call, state: 'ended' });
    return call;
  }

  function deny(call_id: string, content: string): RunPart[] {
    const call = end(call_id);
    return call ? [{ kind: 'denied', call_id, content, by_person: call.denied_by_person }] : [];
  }

  /** Adds the message of a tool, which ends its call. */
  function readMessage(call_id: string, content: string): RunPart[] {
    const { result = null, is_denied = false } = calls.get(call_id) ?? {};
    if (is_denied) return deny(call_id, content);
    // Without an event before, the message is the reason why the call was left open.
    if (!result) return leave(call_id, content);
    return end(call_id) ? [{ kind: 'result', result: { ...result, content } }] : [];
  }

  /** Ends a call that the run left open. Nobody can decide about it any more. */
  function leave(call_id: string, content: string): RunPart[] {
    const call = end(call_id);
    if (!call) return [];
    if (call.state !== 'approval') return [{ kind: 'result', result: { call_id, content, failed: true, files: [] } }];
    return [
      { kind: 'approval_decided', call_id, approved: false, message: content },
      { kind: 'denied', call_id, content, by_person: true },
    ];
  }

  function park(call_id: string, ask: Ask, { detail, question = null }: { detail: string; question?: AskedCall['question'] }) {
    const call = calls.get(call_id);
    if (call) Object.assign(call, { state: ask, detail, question });
  }

  function unpark(call_id: string, state: 'planned' | 'running') {
    const call = calls.get(call_id);
    if (call && call.state !== 'ended') Object.assign(call, { state, question: null });
  }

  /** Returns what a log event of a call adds. */
  function read(step: number, data: CallEvent): RunPart[] {
    const { call_id } = data;
    switch (data.event) {
      case 'tool_call': {
        const added = add(step, data, data.ran_at);
        unpark(call_id, 'running');
        return added;
      }
      case 'tool_result':
        return readResult(data);
      case 'tool_denied':
        Object.assign(calls.get(call_id) ?? {}, { is_denied: true });
        return [];
      case 'approval_requested': {
        const added = add(step, data);
        park(call_id, 'approval', data);
        return [...added, { kind: 'approval_requested', call_id }];
      }
      case 'approval_decided': {
        const call = calls.get(call_id);
        if (call) call.denied_by_person = data.decision === 'deny';
        unpark(call_id, 'planned');
        return [{ kind: 'approval_decided', call_id, approved: data.decision === 'approve', message: data.message }];
      }
      case 'client_call_requested':
        park(call_id, 'client', data);
        return [];
      case 'reconciliation_requested':
        park(call_id, 'reconciliation', data);
        return [];
      case 'question_asked':
        park(call_id, 'question', data);
        return [];
      case 'question_answered':
        unpark(call_id, 'running');
        return [];
      case 'client_call_answered':
      case 'reconciliation_decided':
        unpark(call_id, 'planned');
        return [];
    }
  }

  function readResult({
    call_id,
    failed,
    files = [],
    duration_ms,
    result,
    ran_at,
  }: Extract<CallEvent, { event: 'tool_result' }>) {
    const call = calls.get(call_id);
    if (call) call.result = { call_id, failed, files, duration_ms };
    // No message follows for a call that ran at the provider.
    return ran_at ? readMessage(call_id, result ?? '') : [];
  }

  return {
    plan,
    read,
    readMessage,
    /** Forgets the calls of the round before: all of them have ended. */
    beginRound: () => calls.clear(),
    countTurns(current_turn: number) {
      turns = Math.max(turns, current_turn);
    },
    /** Returns the calls that wait for an answer, if no other call of the round is planned or running; null if one is. */
    listAsked(): AskedCall[] | null {
      const open = [...calls.values()].filter(({ state }) => state !== 'ended');
      if (open.some(({ state }) => state === 'planned' || state === 'running')) return null;
      return open.map(({ call_id, name, arguments: args, executor, state, detail, question }) => ({
        call_id,
        name,
        arguments: args,
        executor,
        detail,
        question,
        ask: state as Ask,
      }));
    },
    /** Ends the calls that were open when the run ended. */
    endAll: (): RunPart[] =>
      [...calls.values()].flatMap(({ call_id, state }) =>
        leave(call_id, state === 'running' || state === 'question' || state === 'reconciliation' ? OUTCOME_UNKNOWN : NOT_CALLED),
      ),
  };
}
