import type { QueryConfig } from 'pg';
import type { CallDecision, CallStatus, LedgerEntry, ToolEffect, WaitingCall } from '../../domain/effects.ts';
import type { ForkAnswer, ForkOrigin } from '../../domain/fork.ts';
import type { TodoItem } from '../../domain/progress.ts';
import type { GivenAnswer, OpenQuestion } from '../../domain/questions.ts';
import type { ResultExtra } from '../../domain/tool-choice.ts';
import type { NewEvent } from '../../events/task-events.ts';
import { type Queryable, row, rows } from '../database/database.ts';
import type { Publish } from './settlement.ts';
import * as sql from './tool-ledger.sql.ts';

/** The state of a call. */
export interface CallPlace {
  task_id: string;
  call_id: string;
  workflow_id: string;
}

/** A call with everything needed to execute it. */
export interface OpenCall extends CallPlace, LedgerEntry {
  owner: string;
  owner_login: string;
  definition_hash: string;
  step: number;
  position: number;
  name: string;
  arguments: string;
  effect: ToolEffect;
  errors: number;
  /** True if the call is on record. If it is not, only the fields of its task are set. */
  known: boolean;
  /** True if the definition of the run is on record. */
  defined: boolean;
  turns: number;
  task_status: string;
  halt_requested: boolean;
  toolset: unknown;
  /** The origin of a forked run; null if it is not a fork. */
  fork: ForkOrigin | null;
}

export interface CallEnd {
  content: string;
  failed: boolean;
  /** The kind of message: `result` of a tool that ran, `denial` of one that did not. */
  kind: 'result' | 'denial';
  stdout: string | null;
  stderr: string | null;
  duration_ms: number | null;
  extra: ResultExtra | null;
  /** The run's to-do list, if the call has set it. */
  todos?: TodoItem[] | undefined;
  events: NewEvent[];
}

interface DecisionMade {
  decision: CallDecision;
  by: string;
  attempts?: number | null;
  events: NewEvent[];
}

/** The question of a call in progress. */
interface AskedOfPerson {
  status: CallStatus;
  attempts: number;
  /** The open question; null if it has been answered, or none was asked. */
  question: OpenQuestion | null;
  answers: GivenAnswer[];
}

/** A call that a client executes. */
export interface ClientCall {
  call_id: string;
  name: string;
  arguments: string;
  status: CallStatus;
  /** True if the call has been answered, and the run has not taken the answer yet. */
  answered: boolean;
}

export type ToolLedger = ReturnType<typeof toolLedger>;

export function toolLedger(pool: Queryable, publish: Publish) {
  async function write(query: QueryConfig, { workflow_id, task_id }: CallPlace, events: NewEvent[]) {
    const event_row = await row<{ last: number }>(pool, query);
    if (event_row) publish(workflow_id, task_id, { events, last: event_row.last });
    return event_row !== undefined;
  }

  return {
    /** Returns a call as its task has it on record; undefined if there is no such task. */
    open: (task_id: string, call_id: string) => row<OpenCall>(pool, sql.openCall({ task_id, call_id })),

    /** Marks a call as started and returns its current state. Returns null if another attempt changed it in the meantime. */
    async start(call: OpenCall, events: NewEvent[]): Promise<OpenCall | null> {
      const started = await write(sql.startCall(toSeenParameters(call, events)), call, events);
      return started ? toStartedCall(call) : null;
    },

    /** Writes a call's result, once, with its ledger entry. Returns false if the call has changed since it was read. */
    end(call: OpenCall, { events, extra: more, todos, ...outcome }: CallEnd) {
      const { step, position } = call;
      const values = { ...toSeenParameters(call, events), step, position, ...outcome, extra: more && JSON.stringify(more) };
      const query = todos ? sql.endCallWithTodos({ ...values, todos: JSON.stringify(todos) }) : sql.endCall(values);
      return write(query, call, events);
    },

    /** Writes, once, the answer to a call that is not executed. Returns false if the call has changed since it was read. */
    answer(call: OpenCall, { content, failed, answered_by, files, events }: ForkAnswer & { events: NewEvent[] }) {
      const { step, position } = call;
      const extra = files ? JSON.stringify({ files }) : null;
      const values = { step, position, content, failed, answered_by, extra };
      return write(sql.answerCall({ ...toSeenParameters(call, events), ...values }), call, events);
    },

    /** Pauses the run until a person decides about this call, or its client answers it. */
    park: (call: OpenCall, { status, events }: { status: WaitingCall; events: NewEvent[] }) =>
      write(sql.parkCall({ ...toSeenParameters(call, events), status }), call, events),

    /**
     * Puts a question of a call in progress to a person; the run waits. Returns false if another attempt has taken over, or the
     * task has ended.
     */
    ask: (call: OpenCall, { question, events }: { question: OpenQuestion; events: NewEvent[] }) =>
      write(sql.askQuestion({ ...toAttemptParameters(call, events), question: JSON.stringify(question) }), call, events),

    /** Returns the question of a call and its answers; undefined if there is no such call. */
    question: ({ task_id, call_id }: Pick<CallPlace, 'task_id' | 'call_id'>) =>
      row<AskedOfPerson>(pool, sql.readQuestion({ task_id, call_id })),

    /** Writes a person's answer. Returns false if the call does not wait for an answer to this question. */
    answerQuestion: (
      call: CallPlace,
      { answer, by: answered_by, events }: { answer: GivenAnswer; by: string; events: NewEvent[] },
    ) =>
      write(
        sql.answerQuestion({
          ...toCallParameters(call, events),
          question_id: answer.question_id,
          answer: JSON.stringify(answer),
          answered_by,
        }),
        call,
        events,
      ),

    /** Continues a call that has its answer (`answered`), or no longer needs one. Returns false if neither is the case. */
    closeQuestion: (call: OpenCall, { answered, events }: { answered: boolean; events: NewEvent[] }) =>
      write(sql.closeQuestion({ ...toAttemptParameters(call, events), answered }), call, events),

    /** Resumes the run once none of its calls waits for a person. */
    resume: (call: CallPlace, events: NewEvent[]) => write(sql.resumeRun(toRunParameters(call, events)), call, events),

    /**
     * Resets a call whose source was lost, so that the next attempt starts from scratch. `reached`: the tool may have run.
     * `is_outage`: the installation lacked something, which does not count as an error of the source.
     */
    release: (call: OpenCall, { reached, is_outage, events }: ReleasedCall) =>
      write(sql.releaseCall({ ...toSeenParameters(call, events), reached, counted: is_outage ? 0 : 1 }), call, events),

    /** Emits events of a call in progress. */
    publish: (call: CallPlace, events: NewEvent[]) => write(sql.tellCall(toCallParameters(call, events)), call, events),

    /** Lists the calls of a run's last step that have one of the names. */
    lastCalls: (task_id: string, names: string[]) => rows<ClientCall>(pool, sql.lastCalls({ task_id, names })),

    /**
     * Writes a decision. Returns false if the call does not wait for one of this kind, already has one, or is at another attempt.
     */
    decide(call: CallPlace, { decision, by: decided_by, attempts = null, events }: DecisionMade): Promise<boolean> {
      const waits = WAITS_FOR[decision.decision];
      const values = { waits, decision: JSON.stringify(decision), decided_by, attempts };
      return write(sql.decideCall({ ...toCallParameters(call, events), ...values }), call, events);
    },
  };
}

interface ReleasedCall {
  reached: boolean;
  is_outage: boolean;
  events: NewEvent[];
}

/** The waiting statuses to which each decision applies. The result of a client's call can be decided by a person as well. */
const WAITS_FOR: Record<CallDecision['decision'], WaitingCall[]> = {
  approve: ['waiting_approval'],
  deny: ['waiting_approval'],
  retry: ['waiting_reconciliation'],
  done: ['waiting_reconciliation', 'waiting_client'],
  fail: ['waiting_reconciliation', 'waiting_client'],
};

const toStartedCall = (call: OpenCall): OpenCall => ({
  ...call,
  status: 'started',
  attempts: call.attempts + 1,
  decision: null,
});

const toRunParameters = ({ task_id, workflow_id }: CallPlace, events: NewEvent[]) => ({
  task_id,
  workflow_id,
  events: JSON.stringify(events),
});

const toCallParameters = (call: CallPlace, events: NewEvent[]) => ({ ...toRunParameters(call, events), call_id: call.call_id });

const toAttemptParameters = (call: OpenCall, events: NewEvent[]) => ({
  ...toCallParameters(call, events),
  seen_attempts: call.attempts,
});

const toSeenParameters = (call: OpenCall, events: NewEvent[]) => ({
  ...toAttemptParameters(call, events),
  seen_status: call.status,
});
