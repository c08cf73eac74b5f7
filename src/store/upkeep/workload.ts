import { type Database, row } from '../database/database.ts';
import { readWorkload } from './workload.sql.ts';

/** What has not ended. Ages in seconds. */
export interface Workload {
  runs: { status: string; trigger: string; count: number; oldest: number }[];
  /** Calls that wait for a person or for the client that executes them. */
  calls: { status: 'waiting_approval' | 'waiting_reconciliation' | 'waiting_answer' | 'waiting_client'; count: number }[];
  webhooks: number;
  oldest_webhook: number;
  /** Entries of the audit that its webhook has not received. */
  unsent_audit: number;
}

export function workloadStore({ pool }: Pick<Database, 'pool'>) {
  return { read: async (): Promise<Workload> => (await row<Workload>(pool, readWorkload()))! };
}
