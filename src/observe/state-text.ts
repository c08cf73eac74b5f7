import { Gauge, Registry } from 'prom-client';
import type { UsedBudget } from '../store/resources/budgets.ts';
import type { Workload } from '../store/upkeep/workload.ts';
import type { QueueBacklog } from '../temporal/client/queues.ts';

interface StateSources {
  workload(): Promise<Workload>;
  backlogs(): Promise<QueueBacklog[]>;
  /** The budgets of which most is used. */
  budgets(): Promise<UsedBudget[]>;
}

const RUNS = ['pending', 'running', 'waiting'] as const;
const CALLS = {
  approval: 'waiting_approval',
  reconciliation: 'waiting_reconciliation',
  answer: 'waiting_answer',
  client: 'waiting_client',
} as const;

/**
 * Returns the pending work of the installation, from the record and the engine, in Prometheus' text format. Every process
 * reports the same numbers, so queries take the maximum. If a source does not answer, its metrics are missing, and its
 * `perdura_source_up` is 0.
 */
export async function stateText({ workload, backlogs, budgets }: StateSources): Promise<string> {
  const registry = new Registry();
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const up = gauge('perdura_source_up', 'Whether a source of these metrics answers', ['source']);
  const [work, queues, used] = await Promise.allSettled([workload(), backlogs(), budgets()]);
  up.set({ source: 'database' }, work.status === 'fulfilled' ? 1 : 0);
  up.set({ source: 'engine' }, queues.status === 'fulfilled' ? 1 : 0);
  if (work.status === 'fulfilled') addWorkload(work.value, gauge);
  if (queues.status === 'fulfilled') addBacklogs(queues.value, gauge);
  if (used.status === 'fulfilled') addBudgets(used.value, gauge);
  return registry.metrics();
}

type MakeGauge = <L extends string>(name: string, help: string, labelNames?: readonly L[]) => Gauge<L>;

function addWorkload({ runs, calls, webhooks, oldest_webhook, unsent_audit }: Workload, gauge: MakeGauge): void {
  const open = gauge('perdura_runs_open', 'Runs that have not ended', ['status', 'trigger']);
  const age = gauge('perdura_runs_oldest_age_seconds', 'Age of the oldest run that has not ended', ['status', 'trigger']);
  for (const status of RUNS) open.set({ status, trigger: 'prompt' }, 0);
  for (const { status, trigger, count, oldest } of runs) {
    open.set({ status, trigger }, count);
    age.set({ status, trigger }, oldest);
  }
  const waiting = gauge('perdura_calls_waiting', 'Calls of tools that wait for a person or for the client that executes them', [
    'reason',
  ]);
  for (const [reason, status] of Object.entries(CALLS))
    waiting.set({ reason }, calls.find((call) => call.status === status)?.count ?? 0);
  gauge('perdura_webhooks_pending', 'Webhooks that are not delivered yet').set(webhooks);
  gauge('perdura_webhooks_oldest_age_seconds', 'Age of the oldest webhook that is not delivered yet').set(oldest_webhook);
  gauge('perdura_audit_entries_unsent', 'Entries of the audit that AUDIT_WEBHOOK_URL has not received yet').set(unsent_audit);
}

/** The amounts are in the unit of the budget, which is a label: sums over budgets of both units would mean nothing. */
function addBudgets(budgets: readonly UsedBudget[], gauge: MakeGauge): void {
  const labels = ['budget', 'scope', 'unit'] as const;
  const limits = gauge('perdura_budget_limit', 'The limit of a budget for a period', labels);
  const spent = gauge('perdura_budget_spent', 'What is spent of a budget in its present period', labels);
  const reserved = gauge('perdura_budget_reserved', 'What calls in progress have reserved of a budget', labels);
  const used = gauge('perdura_budget_used_ratio', 'The share of a budget that is spent in its present period', [
    'budget',
    'scope',
  ]);
  for (const { id, scope, unit, ...budget } of budgets) {
    const one = { budget: id, scope };
    limits.set({ ...one, unit }, budget.limit);
    spent.set({ ...one, unit }, budget.spent);
    reserved.set({ ...one, unit }, budget.reserved);
    used.set(one, budget.used);
  }
}

function addBacklogs(queues: readonly QueueBacklog[], gauge: MakeGauge): void {
  const labels = ['queue', 'kind'] as const;
  const backlog = gauge('perdura_queue_backlog', 'Tasks that wait in a task queue of the engine, approximately', labels);
  const age = gauge('perdura_queue_oldest_age_seconds', 'Age of the oldest task that waits there, approximately', labels);
  const pollers = gauge('perdura_queue_pollers', 'Workers that ask a task queue for work', labels);
  for (const { queue, kind, waiting, oldest_seconds, workers } of queues) {
    backlog.set({ queue, kind }, waiting);
    age.set({ queue, kind }, oldest_seconds);
    pollers.set({ queue, kind }, workers);
  }
}
