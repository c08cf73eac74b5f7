import { type Database, onlyRow } from '../database/database.ts';
import { readWorkload } from './workload.sql.ts';

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

export function workloadStore({ pool }: Pick<Database, 'pool'>) {
  return { read: async (): Promise<Workload> => await onlyRow<Workload>(pool, readWorkload()) };
}
