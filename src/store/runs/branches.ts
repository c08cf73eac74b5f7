import type pg from 'pg';
import type { ToolCallRecord } from '../../contracts/tasks.ts';
import type { AttachedFile } from '../../domain/attachments.ts';
import type { TranscriptMessage } from '../../domain/transcript.ts';
import { row, rows } from '../database/database.ts';
import * as sql from './branches.sql.ts';

/** A turn with what a person sees of it. */
export interface BranchTurn {
  task_id: string;
  workflow_id: string;
  status: string;
  prompt: string;
  attachments: AttachedFile[];
  definition_hash: string;
  /** The number of the last event of a turn that waits; null for others. */
  last_event: number | null;
  messages: TranscriptMessage[];
  calls: Pick<ToolCallRecord, 'call_id' | 'name' | 'approval' | 'status' | 'failed' | 'duration_ms'>[];
}

/** Reads the turns of a branch of a thread, from its last turn back. The caller checks who may see the thread. */
export const branchStore = (pool: pg.Pool) => ({
  /** Returns the newest turns of a branch, oldest first. */
  list: (head_task_id: string, limit: number) => rows<BranchTurn>(pool, sql.turnsOfBranch({ head_task_id, limit })),
  /** Returns the number of the last event of a task; null: none is on record. */
  lastEvent: async (task_id: string): Promise<number | null> =>
    (await row<{ seq: number | null }>(pool, sql.lastEventOfTask({ task_id })))?.seq ?? null,
  /** Returns the turn of a branch that follows another one; null before: its first one. Null: there is none. */
  turnAfter: async (head_task_id: string, previous_task_id: string | null): Promise<string | null> =>
    (await row<{ id: string }>(pool, sql.turnAfter({ head_task_id, previous_task_id })))?.id ?? null,
});
