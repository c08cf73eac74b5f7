import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/store/database/database.ts';
import { STORED_TEXTS } from '../../src/store/people/quotas.sql.ts';
import { openTestDatabase, tablesOf } from '../support/database/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

/** Tables that do not count towards what a principal may store, with the reason. A new table is counted or gets a line here. */
const NOT_COUNTED: Record<string, string> = {
  _prisma_migrations: 'written by the installation',
  alert_events: 'numbers, 200 of each alert',
  alerts: 'at most 50 a principal, of limited length',
  audit_entries: 'one line a request; AUDIT_RETENTION_DAYS',
  audit_queue: 'numbers',
  budget_waits: 'written by the installation',
  budgets: 'at most 100 a principal, of limited length',
  browser_sessions: 'names of people who are signed in',
  definitions: 'history: what a task was pinned with, once for equal ones',
  evaluation_results: 'history: of items, which are counted',
  evaluations: 'history: one request each',
  event_sequences: 'numbers',
  events: 'history; deltas expire',
  grant_keys: 'written by the installation',
  idempotency_keys: 'expire',
  installation_facts: 'written by the installation',
  knowledge_chunks: 'made from items, which are counted',
  mcp_sign_in_attempts: 'expire',
  mcp_listings: 'one row a principal and server, of limited length',
  mcp_sign_ins: 'one row a principal and server',
  model_catalogue: 'one row, of limited length',
  named_windows: 'one row a provider and model, of limited length',
  person_settings: 'one row a principal, of limited length',
  principals: 'one row a principal',
  provider_rates: 'numbers',
  schedule_fires: 'history',
  scheduled_agents: 'short texts, and a prompt as large as one request',
  secret_grants: 'one row a name in a resource, which is counted',
  service_keys: 'at most 100 a principal, of limited length',
  task_messages: 'history: bounded by RUNNING_TASKS_PER_PRINCIPAL and the limits of a run',
  task_steps: 'history',
  tasks: 'history',
  thread_tokens: 'expire',
  thread_messages: 'history: at most 100 wait for a run, each as large as one request',
  threads: 'history: titles and metadata of limited length',
  token_uses: 'history',
  tool_calls: 'history',
  usage_calls: 'sums of history',
  usage_runs: 'sums of history',
  webhook_attempts: 'history',
  webhook_deliveries: 'history',
  webhook_secrets: 'two rows a principal',
  workflow_versions: 'settings of limited length, for each definition that ran and twenty others',
  worker_beats: 'written by the installation',
  workflows: 'settings of limited length',
  workspace_layers: 'names of objects: a workspace has limits, and goes with its run',
};

const TEXTS = `SELECT table_name, array_agg(column_name::text ORDER BY column_name) AS columns FROM information_schema.columns
  WHERE table_schema = 'public' AND data_type IN ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY')
    AND column_name <> 'created_by' GROUP BY 1`;

it('every text that a principal stores counts towards their limit, or its table is listed with a reason', async () => {
  const [{ rows }, tables] = [await database.pool.query(TEXTS), await tablesOf(database)];
  const known = rows.filter(({ table_name }) => tables.includes(table_name));
  const columns: Record<string, string[]> = Object.fromEntries(known.map((row) => [row.table_name, row.columns]));
  const counted = Object.entries(columns).filter(([table]) => !(table in NOT_COUNTED));
  expect(Object.fromEntries(counted)).toEqual(
    Object.fromEntries(Object.entries(STORED_TEXTS).map(([table, names]) => [table, [...names].sort()])),
  );
  expect(Object.keys(NOT_COUNTED).filter((table) => !tables.includes(table))).toEqual([]);
});
