import { type Database, onlyRow, rows } from '../database/database.ts';
import { type Wire, wire } from '../database/page.ts';
import { readFailures, readWorkload } from './workload.sql.ts';

/** The unfinished work. Ages are in seconds. */
export interface Workload {
  runs: { status: string; trigger: string; count: number; oldest: number }[];
  /** Calls that wait for a person or for the client that executes them. */
  calls: { status: 'waiting_approval' | 'waiting_reconciliation' | 'waiting_answer' | 'waiting_client'; count: number }[];
  webhooks: number;
  oldest_webhook: number;
  /** The number of audit entries that the webhook has not received. */
  unsent_audit: number;
}

/** The failed runs of everybody with one error code, the newest of them by id. */
interface FailureRow {
  error_code: string;
  runs: number;
  last_at: Date;
  newest: { task_id: string; owner: string; login: string; at: string }[];
}

export type FailureGroup = Wire<FailureRow>;

export function workloadStore({ pool }: Pick<Database, 'pool'>) {
  return {
    read: async (): Promise<Workload> => await onlyRow<Workload>(pool, readWorkload()),
    /** Groups the runs that failed in the last hours by error code, the one that occurred last first. */
    failures: async (hours: number) => (await rows<FailureRow>(pool, readFailures({ hours }))).map(wire),
  };
}
