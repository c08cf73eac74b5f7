import type { ContinuityDecision } from '../../domain/continuity.ts';
import type { NewEvent } from '../../events/task-events.ts';
import { type Queryable, row } from '../database/database.ts';
import * as sql from './continuity.sql.ts';
import type { Publish } from './settlement.ts';

interface RunPlace {
  task_id: string;
  workflow_id: string;
}

interface Parked {
  /** The engine's id of the execution that is ahead of the record. */
  run_id: string;
  missing: string;
  events: NewEvent[];
}

/** Handles runs whose record is older than their execution, as after a restore of the database. */
export function continuityStore(pool: Queryable, publish: Publish) {
  async function write(query: Parameters<Queryable['query']>[0], { task_id, workflow_id }: RunPlace, events: NewEvent[]) {
    const event_row = await row<{ last: number }>(pool, query);
    if (event_row) publish(workflow_id, task_id, { events, last: event_row.last });
    return event_row !== undefined;
  }

  return {
    /** Parks a run. Returns false if the task has ended, or this execution was parked before. */
    park: ({ task_id, workflow_id }: RunPlace, { run_id, missing, events }: Parked) =>
      write(
        sql.parkBehind({ task_id, workflow_id, run_id, missing, events: JSON.stringify(events) }),
        { task_id, workflow_id },
        events,
      ),

    /** Marks a task as restored if calls are open on record that have ended for its execution. */
    async doubtCalls(task_id: string, passed_calls: { step: number; denied: string[]; calls: string[] }): Promise<void> {
      await row(pool, sql.doubtCalls({ task_id, ...passed_calls }));
    },

    /**
     * Writes a decision. Returns false if the run does not wait for this decision, or was pinned to a definition that is not on
     * record and cannot resume.
     */
    decide: ({ task_id, workflow_id }: RunPlace, { decision, events }: { decision: ContinuityDecision; events: NewEvent[] }) =>
      write(
        sql.decideContinuity({ task_id, workflow_id, decision, events: JSON.stringify(events) }),
        { task_id, workflow_id },
        events,
      ),

    /** Forgets a decision that has been carried out. */
    async done(task_id: string, run_id: string): Promise<void> {
      await row(pool, sql.continuityDone({ task_id, run_id }));
    },
  };
}
