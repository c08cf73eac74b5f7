import type { QueryConfig } from 'pg';
import type { ToolEffect } from '../domain/definition.ts';
import type { CallDecision, LedgerEntry } from '../domain/effects.ts';
import type { NewEvent } from '../domain/events.ts';
import type { ForkAnswer, ForkOrigin } from '../domain/fork.ts';
import type { TodoItem } from '../domain/progress.ts';
import { type Queryable, row } from './database.ts';
import type { Tell } from './runs.ts';
import * as sql from './statements/tool-ledger.ts';

/** Where a call stands. */
export interface CallPlace {
  task_id: string;
  call_id: string;
  workflow_id: string;
}

/** A call with what is needed to carry it out. */
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
  turns: number;
  task_status: string;
  halt_requested: boolean;
  toolset: unknown;
  /** Where the run was forked from; null for any other. */
  fork: ForkOrigin | null;
}

export interface CallEnd {
  content: string;
  failed: boolean;
  /** `result` of a tool that ran, `denial` of one that did not. */
  kind: 'result' | 'denial';
  stdout: string | null;
  stderr: string | null;
  duration_ms: number | null;
  events: NewEvent[];
}

interface DecisionMade {
  decision: CallDecision;
  by: string;
  attempts?: number | null;
  events: NewEvent[];
}

export type ToolLedger = ReturnType<typeof toolLedger>;

export function toolLedger(pool: Queryable, tell: Tell = () => {}) {
  async function write(query: QueryConfig, { workflow_id, task_id }: CallPlace, events: NewEvent[]) {
    const told = await row<{ last: number }>(pool, query);
    if (told) tell(workflow_id, task_id, { events, last: told.last });
    return told !== undefined;
  }

  return {
    open: (task_id: string, call_id: string) => row<OpenCall>(pool, sql.openCall({ task_id, call_id })),

    /** Marks a call as begun. Null when another attempt moved it meanwhile; otherwise the call as it is now. */
    async start(call: OpenCall, events: NewEvent[]): Promise<OpenCall | null> {
      const started = await write(sql.startCall(seenParameters(call, events)), call, events);
      return started ? { ...call, status: 'started', attempts: call.attempts + 1, decision: null } : null;
    },

    /** Writes a call's result, once, beside its ledger entry. False when the call is no longer as it was seen. */
    end(call: OpenCall, { events, ...outcome }: CallEnd) {
      const { step, position } = call;
      return write(sql.endCall({ ...seenParameters(call, events), step, position, ...outcome }), call, events);
    },

    /** Writes, once, what a call is answered with that is not carried out. False when the call is no longer as it was seen. */
    answer(call: OpenCall, { content, failed, answered_by, events }: ForkAnswer & { events: NewEvent[] }) {
      const { step, position } = call;
      return write(
        sql.answerCall({ ...seenParameters(call, events), step, position, content, failed, answered_by }),
        call,
        events,
      );
    },

    /** Parks the run until a person decides about this call. */
    park: (call: OpenCall, { status, events }: { status: 'waiting_approval' | 'waiting_reconciliation'; events: NewEvent[] }) =>
      write(sql.parkCall({ ...seenParameters(call, events), status }), call, events),

    /** Lets the run go on when none of its calls waits for a person any more. */
    resume: (call: CallPlace, events: NewEvent[]) => write(sql.resumeRun(runParameters(call, events)), call, events),

    /** The source was out of reach, so nothing was done: the next attempt starts afresh. */
    release: (call: OpenCall, events: NewEvent[]) => write(sql.releaseCall(seenParameters(call, events)), call, events),

    /** Tells of a call under way. */
    publish: (call: CallPlace, events: NewEvent[]) => write(sql.tellCall(callParameters(call, events)), call, events),

    setTodos: (call: CallPlace, { todos, events }: { todos: TodoItem[]; events: NewEvent[] }) =>
      write(sql.setTodos({ ...runParameters(call, events), todos: JSON.stringify(todos) }), call, events),

    /** Writes a decision. False when the call does not wait for one of this kind, has one, or is not the attempt's that is named. */
    decide(call: CallPlace, { decision, by: decided_by, attempts = null, events }: DecisionMade): Promise<boolean> {
      const asked = decision.decision === 'approve' || decision.decision === 'deny';
      const waits = asked ? 'waiting_approval' : 'waiting_reconciliation';
      const values = { waits, decision: JSON.stringify(decision), decided_by, attempts };
      return write(sql.decideCall({ ...callParameters(call, events), ...values }), call, events);
    },
  };
}

const runParameters = ({ task_id, workflow_id }: CallPlace, events: NewEvent[]) => ({
  task_id,
  workflow_id,
  events: JSON.stringify(events),
});

const callParameters = (call: CallPlace, events: NewEvent[]) => ({ ...runParameters(call, events), call_id: call.call_id });

const seenParameters = (call: OpenCall, events: NewEvent[]) => ({
  ...callParameters(call, events),
  seen_status: call.status,
  seen_attempts: call.attempts,
});
