import type { Row } from './figures-scene.ts';

/** The tables from which figures are computed a second time, each as `SELECT *` returns it. */
export const TABLES = [
  ...['tasks', 'task_steps', 'tool_calls', 'task_messages', 'task_scores', 'workflows', 'workflow_versions', 'definitions'],
  ...['evaluations', 'evaluation_results', 'datasets', 'dataset_items', 'knowledge_items', 'knowledge_chunks', 'attachments'],
  ...['threads', 'alerts', 'alert_events', 'webhook_deliveries', 'webhook_attempts', 'audit_entries', 'events'],
  ...['budgets', 'budget_periods', 'budget_reservations'],
] as const;
export type Record_ = Record<(typeof TABLES)[number], Row[]>;

const HOUR_MS = 3_600_000;
export const sumOf = (rows: readonly Row[], field: string): number => rows.reduce((total, row) => total + row[field], 0);
const count = (rows: readonly Row[], matches: (row: Row) => boolean) => rows.filter(matches).length;
export const newestFirst = (rows: readonly Row[]) => rows.toSorted((one, other) => (one.id < other.id ? 1 : -1));
const msOf = (at: Date | null) => (at === null ? null : at.getTime());

/** A number that may be off by so much, because durations are counted in classes, or because the clock continues. */
export interface Near {
  near: number;
  off: number;
}
export const isNear = (value: unknown): value is Near => typeof value === 'object' && value !== null && 'near' in value;

/** Returns a cost as it is shown: null if nothing of it is known. */
const shownCost = (cost: number, unpriced: number | boolean) => (unpriced && cost === 0 ? null : cost);

export const toUsage = (row: Row) => {
  const cost = shownCost(row.cost, (row.unpriced_models ?? []).length > 0);
  const { total_in, total_out, cache_read, cache_write, premium_requests } = row;
  const same = { total_input_tokens: total_in, total_output_tokens: total_out, total_cost: cost };
  return {
    total_in,
    total_out,
    cost,
    cache_read,
    cache_write,
    premium_requests,
    ...same,
    total_premium_requests: premium_requests,
  };
};
const NO_USAGE = toUsage({ total_in: 0, total_out: 0, cost: 0, cache_read: 0, cache_write: 0, premium_requests: 0 });

const seconds = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1_000;

export const toTask = (record: Record_, row: Row) => ({
  id: row.id,
  usage: toUsage(row),
  turns: row.turns,
  tool_calls: row.turns,
  steps: row.steps,
  thread_turn: row.thread_id && record.tasks.filter(({ thread_id, id }) => thread_id === row.thread_id && id <= row.id).length,
  ...(row.forked_from ? { forked_from: { task_id: row.forked_from, step: row.fork_step } } : {}),
  elapsed_seconds: row.completed_at
    ? seconds(row.started_at, row.completed_at)
    : { near: seconds(row.started_at, new Date()), off: 30 },
  attachments: (row.attachments ?? []).map(({ id }: Row) => ({
    id,
    size: record.attachments.find((file) => file.id === id)!.content.length,
  })),
});

/** Returns the time that a run has waited, from its changes of status. */
function waitedOf(record: Record_, row: Row): number {
  const changes = record.events
    .filter(({ task_id, type }) => task_id === row.id && type === 'status')
    .toSorted((one, other) => one.seq - other.seq);
  let waited = 0;
  for (const [index, { data, timestamp }] of changes.entries())
    if (data.status === 'waiting') waited += (changes[index + 1]?.timestamp ?? row.completed_at).getTime() - timestamp.getTime();
  return waited / 1_000;
}

export function toTaskDetail(record: Record_, row: Row) {
  const waiting_seconds = waitedOf(record, row);
  const { elapsed_seconds } = toTask(record, row);
  const forks = record.tasks.filter(({ forked_from }) => forked_from === row.id);
  return {
    ...toTask(record, row),
    waiting_seconds,
    working_seconds: (elapsed_seconds as number) - waiting_seconds,
    forks: newestFirst(forks)
      .toReversed()
      .map(({ id, fork_step }) => ({ task_id: id, step: fork_step })),
    ...toTranscript(record, row.id),
    steps_detail: toSteps(record, row.id),
  };
}

const inOrder = (rows: readonly Row[]) => rows.toSorted((one, other) => one.step - other.step || one.position - other.position);
const toMessages = (record: Record_, task_id: string) =>
  inOrder(record.task_messages.filter((row) => row.task_id === task_id)).map(({ step }) => ({ step }));
const toLogs = (record: Record_, task_id: string) =>
  record.events
    .filter((event) => event.task_id === task_id && event.type === 'log')
    .toSorted((one, other) => one.seq - other.seq)
    .map(({ data }) => data);

export const toTranscript = (record: Record_, task_id: string) => ({
  messages: toMessages(record, task_id),
  logs: toLogs(record, task_id),
});

const toCall = ({ call_id, attempts, errors, duration_ms }: Row) => ({ call_id, attempts, errors, duration_ms });
export const toSteps = (record: Record_, task_id: string) =>
  inOrder(record.task_steps.filter((row) => row.task_id === task_id)).map((row) => {
    const { step, attempts, errors, fallback, total_in, total_out, cache_read, cache_write } = row;
    const cost = shownCost(
      row.cost,
      [row, ...(row.passed_on ?? [])].some((part: Row) => part.unpriced),
    );
    return {
      ...{ step, attempts, errors, fallback, usage: { total_in, total_out, cost, cache_read, cache_write } },
      duration_ms: row.ended_at && msOf(row.ended_at)! - msOf(row.started_at)!,
      tool_calls: inOrder(record.tool_calls.filter((call) => call.task_id === task_id && call.step === step)).map(toCall),
    };
  });

export const toWorkflow = (record: Record_, row: Row) => {
  const mine = newestFirst(record.tasks.filter(({ workflow_id }) => workflow_id === row.id));
  const last = mine.find(({ id }) => id === row.last_task_id);
  return { id: row.id, current_turn: row.current_turn, task_count: mine.length, usage: last ? toUsage(last) : NO_USAGE };
};

// --- usage -----------------------------------------------------------------------------------------------------------------

export interface UsageQuery {
  /** Null: everybody's. */
  owner: string | null;
  from: number;
  to: number;
}

const hourOf = (at: Date) => Math.floor(at.getTime() / HOUR_MS) * HOUR_MS;
const hourIn = (at: Date | null, { from, to }: UsageQuery) =>
  at !== null && hourOf(at) >= Math.floor(from / HOUR_MS) * HOUR_MS && hourOf(at) < to;

const endedTasks = (record: Record_, query: UsageQuery) =>
  record.tasks.filter(
    ({ owner, completed_at }) => (query.owner === null || owner === query.owner) && hourIn(completed_at, query),
  );

/** The key of a run's group. */
const GROUPS: Record<string, (record: Record_, row: Row) => string | null> = {
  none: () => '',
  agent: (_, { agent_id }) => agent_id,
  workflow({ workflows, evaluations }, { workflow_id }) {
    const workflow = workflows.find(({ id }) => id === workflow_id)!;
    const evaluated = evaluations.find(({ id }) => id === workflow.evaluation_id);
    return evaluated?.workflow_id ?? (workflow.single_use ? null : workflow_id);
  },
  model: (_, { model }) => model ?? '',
  provider: ({ definitions }, { definition_hash }) => definitions.find(({ hash }) => hash === definition_hash)!.body.provider.id,
  owner: (_, { owner }) => owner,
  trigger: (_, { trigger }) => trigger,
};
export const USAGE_BY = Object.keys(GROUPS);

/** What a run, or an answer of it, counts in a report. */
interface Counted extends Row {
  key: string | null;
  task: Row;
}

const COUNTED = ['total_in', 'total_out', 'cache_read', 'cache_write', 'premium_requests', 'cost'];
const PLACES = ['model', 'provider'];

const PART = ['errors', 'total_in', 'total_out', 'cache_read', 'cache_write', 'cost'];

/** Returns the parts of a step: one for each model that passed it on, and the rest. */
function partsOf(row: Row): Row[] {
  const until = [...(row.passed_on ?? []).map((one: Row) => ({ ...one, finish: null, ended_at: new Date(one.at) })), row];
  return until.map((part, index) => {
    const before = until[index - 1];
    if (!before) return { ...part, started_at: row.started_at };
    const counts = Object.fromEntries(PART.map((field) => [field, part[field] - before[field]]));
    return { ...part, ...counts, started_at: before.ended_at };
  });
}

/** Returns what a run counts, by the groups of a report: by model and by provider, what each of them answered. */
function listCounted(record: Record_, task: Row, by: string): Counted[] {
  const own_key = GROUPS[by]!(record, task);
  const estimated = task.usage_estimated as boolean;
  const unpriced = task.unpriced_models.length > 0;
  const whole = { ...task, task, key: own_key, estimated, unpriced };
  if (!PLACES.includes(by)) return [whole];
  const answers = ownRows(record.task_steps, [task])
    .flatMap(({ row }) => partsOf(row))
    .filter((row) => row.finish !== null || row.total_in > 0 || row.total_out > 0 || row.cost > 0)
    .map(
      (row) =>
        ({
          ...row,
          premium_requests: 0,
          task,
          key: (by === 'model' ? row.model : row.provider_id) ?? own_key,
        }) as unknown as Counted,
    );
  const rest = Object.fromEntries(COUNTED.map((field) => [field, task[field] - sumOf(answers, field)]));
  const flags = {
    estimated: estimated && !answers.some((answer) => answer.estimated),
    unpriced: unpriced && !answers.some((answer) => answer.unpriced),
  };
  const has_rest = flags.estimated || flags.unpriced || COUNTED.some((field) => field !== 'cost' && rest[field] !== 0);
  return answers.length === 0 || has_rest ? [...answers, { ...rest, ...flags, task, key: own_key }] : answers;
}

/** A run that two models answered is a run of each, also where both are among the others. */
const countRuns = (rows: readonly Counted[], matches: (row: Counted) => boolean = () => true) =>
  new Set(rows.filter(matches).map(({ key, task }) => `${task.id} ${key}`)).size;

const toUsageRow = (key: string | null, at: string | null, rows: readonly Counted[]) => ({
  key,
  at,
  runs: countRuns(rows),
  completed: countRuns(rows, ({ task }) => task.status === 'completed'),
  failed: countRuns(rows, ({ task }) => task.status === 'failed'),
  halted: countRuns(rows, ({ task }) => task.status === 'halted'),
  estimated: countRuns(rows, ({ estimated }) => estimated),
  unpriced: countRuns(rows, ({ unpriced }) => unpriced),
  ...Object.fromEntries(COUNTED.map((field) => [field, sumOf(rows, field)])),
  cost: shownCost(
    sumOf(rows, 'cost'),
    countRuns(rows, ({ unpriced }) => unpriced),
  ),
});
type UsageRow = ReturnType<typeof toUsageRow>;

const costOf = ({ cost }: UsageRow) => cost ?? 0;
const compareRows = (one: UsageRow, other: UsageRow) =>
  (one.at ?? '').localeCompare(other.at ?? '') || costOf(other) - costOf(one) || other.runs - one.runs;

interface Grouping {
  by: string;
  interval: 'hour' | 'day' | null;
  most: number;
}

/** Returns the rows of a usage report, those of UTC for intervals. */
export function toUsageRows(record: Record_, query: UsageQuery, { by, interval, most }: Grouping) {
  const counted = endedTasks(record, query).flatMap((task) => listCounted(record, task, by));
  const named = counted.filter(({ key }) => key !== null);
  const groups = [...Map.groupBy(named, ({ key }) => key)].map(([key, rows]) => toUsageRow(key, null, rows));
  const largest = new Set(
    groups
      .toSorted(compareRows)
      .slice(0, most)
      .map(({ key }) => key),
  );
  const atOf = ({ completed_at }: Row) => {
    if (interval === null) return null;
    const length = interval === 'hour' ? HOUR_MS : 24 * HOUR_MS;
    return new Date(Math.floor(completed_at.getTime() / length) * length).toISOString();
  };
  const cells = Map.groupBy(counted, ({ key, task }) => JSON.stringify([largest.has(key) ? key : null, atOf(task)]));
  return [...cells].map(([cell, rows]) => toUsageRow(...(JSON.parse(cell) as [string, string]), rows)).toSorted(compareRows);
}

interface Called extends Row {
  name: string;
  ms: number;
  failed: boolean;
}

/** Returns the duration that a share of the calls does not exceed. */
function percentile(calls: readonly Called[], share: number): Near {
  const near = calls.map(({ ms }) => ms).toSorted((one, other) => one - other)[Math.ceil(calls.length * share) - 1]!;
  return { near, off: 0.055 * near + 1 };
}

const costOfCalls = (calls: readonly Called[]) => {
  const unpriced = count(calls, (call) => call.unpriced);
  return { cost: shownCost(sumOf(calls, 'cost'), unpriced), unpriced };
};

const toCallRows = (called: readonly Called[]) =>
  [...Map.groupBy(called, ({ name }) => name)]
    .map(([name, calls]) => ({
      name,
      calls: calls.length,
      failed: count(calls, ({ failed }) => failed),
      error_rate: count(calls, ({ failed }) => failed) / calls.length,
      p50_ms: percentile(calls, 0.5),
      p95_ms: percentile(calls, 0.95),
      p99_ms: percentile(calls, 0.99),
      ...(calls[0]!.total_in === undefined
        ? {}
        : { total_in: sumOf(calls, 'total_in'), total_out: sumOf(calls, 'total_out'), ...costOfCalls(calls) }),
    }))
    .toSorted((one, other) => other.calls - one.calls || (one.name < other.name ? -1 : 1));

/** The steps and calls that ended tasks made themselves. */
const ownRows = (rows: readonly Row[], tasks: readonly Row[]) =>
  rows.flatMap((row) => {
    const task = tasks.find(({ id }) => id === row.task_id);
    return task && row.step >= (task.fork_step ?? 0) ? [{ row, task }] : [];
  });

export const toToolRows = (record: Record_, query: UsageQuery) =>
  toCallRows(
    ownRows(record.tool_calls, endedTasks(record, query))
      .filter(({ row }) => row.status === 'done' && row.started_at && row.answered_by === null)
      .map(({ row }) => ({
        name: row.name,
        ms: row.duration_ms ?? msOf(row.ended_at)! - msOf(row.started_at)!,
        failed: row.failed === true,
      })),
  );

export const toModelRows = (record: Record_, query: UsageQuery) =>
  toCallRows(
    ownRows(record.task_steps, endedTasks(record, query))
      .flatMap(({ row, task }) => partsOf(row).map((part) => ({ row: part, task })))
      .map(({ row, task }) => ({
        ...{ name: row.model ?? task.model ?? '', total_in: row.total_in, total_out: row.total_out, cost: row.cost },
        unpriced: row.unpriced as boolean,
        ...{ ms: msOf(row.ended_at ?? task.completed_at)! - msOf(row.started_at)!, failed: row.errors > 0 },
      })),
  );

// --- lists -----------------------------------------------------------------------------------------------------------------

export const toErrors = (record: Record_, owner: string) => {
  const failed = record.tasks.filter((row) => row.owner === owner && row.error_code !== null && row.completed_at !== null);
  return [...Map.groupBy(failed, ({ error_code }) => error_code as string)]
    .map(([error_code, rows]) => {
      const [last] = newestFirst(rows);
      const last_at = new Date(Math.max(...rows.map(({ completed_at }) => completed_at.getTime()))).toISOString();
      return { error_code, runs: rows.length, last_task_id: last!.id, last_error: last!.error, last_at };
    })
    .toSorted((one, other) => other.runs - one.runs || (one.error_code < other.error_code ? -1 : 1));
};

export const toEvaluation = (record: Record_, row: Row) => {
  const results = record.evaluation_results.filter(({ evaluation_id }) => evaluation_id === row.id);
  const countOf = (status: string) => count(results, (result) => result.status === status);
  const counted = { items: results.length, passed: countOf('passed'), failed: countOf('failed'), errors: countOf('error') };
  return { id: row.id, ...counted, pass_rate: counted.passed / counted.items };
};

export const toVersion = (record: Record_, { number, definition_hash, workflow_id }: Row) => {
  const ofVersion = (row: Row) => row.definition_hash === definition_hash && row.workflow_id === workflow_id;
  const [last] = newestFirst(record.evaluations.filter((row) => ofVersion(row) && row.status === 'completed'));
  const last_evaluation = last && { id: last.id, pass_rate: toEvaluation(record, last).pass_rate };
  return { number, runs: count(record.tasks, ofVersion), ...(last_evaluation ? { last_evaluation } : {}) };
};

export function toVersionScores(record: Record_, workflow_id: string) {
  const tasks = record.tasks.filter((row) => row.workflow_id === workflow_id);
  return [...Map.groupBy(tasks, ({ definition_hash }) => definition_hash as string)]
    .map(([definition_hash, runs]) => {
      const scores = record.task_scores.filter(({ task_id }) => runs.some(({ id }) => id === task_id));
      const numbers = scores.filter(({ value }) => value !== null);
      return {
        definition_hash,
        runs: runs.length,
        completed: count(runs, ({ status }) => status === 'completed'),
        scored: new Set(scores.map(({ task_id }) => task_id)).size,
        thumbs_up: count(scores, ({ thumb }) => thumb === 'up'),
        thumbs_down: count(scores, ({ thumb }) => thumb === 'down'),
        ...(numbers.length > 0 ? { mean_value: sumOf(numbers, 'value') / numbers.length } : {}),
        last_run_at: new Date(Math.max(...runs.map(({ created_at }) => created_at.getTime()))).toISOString(),
      };
    })
    .toSorted((one, other) => (one.last_run_at < other.last_run_at ? 1 : -1));
}

const DAY_MS = 24 * HOUR_MS;

/** Returns when the week (from Monday) or the month of a moment begins, in UTC. */
export function startOfPeriod(period: string, now: number): number {
  const at = new Date(now);
  if (period === 'month') return Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
  const day = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  return day - ((at.getUTCDay() + 6) % 7) * DAY_MS;
}

/** Returns what is spent and reserved of a budget in the period of a moment. */
export function toBudget(record: Record_, budget: Row, now: number) {
  const field = budget.limit_usd === null ? 'tokens' : 'cost';
  const limit = budget.limit_usd ?? budget.limit_tokens;
  const start = startOfPeriod(budget.period, now);
  const isPresent = ({ budget_id, starts_at }: Row) => budget_id === budget.id && starts_at.getTime() === start;
  const spent = sumOf(record.budget_periods.filter(isPresent), field);
  const reserved = sumOf(
    record.budget_reservations.filter((row) => isPresent(row) && row.alive_until.getTime() > now),
    field,
  );
  return { id: budget.id, spent, reserved, left: Math.max(0, limit - spent - reserved), used: spent / limit };
}

/** Returns what an alert measures, at the time at which it was measured. */
export function measure(record: Record_, alert: Row): number | Near {
  const now = alert.measured_at.getTime();
  const since = now - alert.window_minutes * 60_000;
  const within = (at: Date | null) => at !== null && at.getTime() > since;
  const tasks = record.tasks.filter(
    ({ owner, workflow_id }) => owner === alert.owner && (alert.workflow_id === null || workflow_id === alert.workflow_id),
  );
  const isOpen = ({ status }: Row) => ['pending', 'running', 'waiting'].includes(status);
  const active = tasks.filter((row) => within(row.completed_at) || isOpen(row));
  const ended = tasks.filter((row) => within(row.completed_at) && ['completed', 'failed'].includes(row.status));
  const steps = ownRows(record.task_steps, active).map(({ row }) => row);
  switch (alert.measure) {
    case 'failure_rate':
      return ended.length < alert.min_runs ? 0 : (100 * count(ended, ({ status }) => status === 'failed')) / ended.length;
    case 'spend':
      return sumOf(
        steps.filter((row) => within(row.ended_at ?? row.started_at)),
        'cost',
      );
    case 'provider_errors':
      return sumOf(
        steps.filter((row) => within(row.started_at)),
        'errors',
      );
    case 'budget': {
      const { used } = toBudget(record, record.budgets.find(({ id }) => id === alert.budget_id)!, now);
      return 100 * used;
    }
    case 'backlog':
      return count(tasks, ({ status }) => status === 'pending');
    default: {
      const waits = tasks
        .filter(({ status }) => status === 'waiting')
        .map(({ id }) => {
          const changes = record.events.filter(({ task_id, type }) => task_id === id && type === 'status');
          return (now - Math.max(...changes.map(({ timestamp }) => timestamp.getTime()))) / 60_000;
        });
      // The database measures in microseconds.
      return { near: Math.max(0, ...waits), off: 0.001 };
    }
  }
}
