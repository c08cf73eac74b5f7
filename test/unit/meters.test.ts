import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it, vi } from 'vitest';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import {
  measurePool,
  measurePublishers,
  measureRunner,
  measureRuntime,
  measureWebhooks,
  timeWork,
} from '../../src/observe/measured.ts';
import { createMeters } from '../../src/observe/meters.ts';
import { stateText } from '../../src/observe/state-text.ts';
import { exchangeOf } from '../runtimes/support.ts';
import { parsedMetrics } from '../support/contract/metrics.ts';

it('gives separate series to a limited number of names, since users choose them', async () => {
  const meters = createMeters();
  const long = 'x'.repeat(10_000);
  for (const name of [long, ...Array.from({ length: 200 }, (_, index) => `tool${index}`)]) {
    meters.toolCalled({ tool: name, outcome: 'ok', seconds: 1 });
    meters.modelAsked({ model: name, outcome: 'ok', seconds: 1 });
    meters.modelAnswered({ model: name, usage: { total_in: 1, total_out: 1, cache_read: 0, cache_write: 0 }, cost: 1 });
    meters.mcpFailed(name);
  }
  const { series, sum } = parsedMetrics(await meters.text());
  const namesOf = (metric: string, label: string) =>
    new Set(
      [...series.keys()].filter((key) => key.startsWith(metric)).map((key) => new RegExp(`${label}="([^"]*)"`).exec(key)?.[1]),
    );
  for (const [metric, label] of [
    ['perdura_tool_call_duration_seconds_count', 'tool'],
    ['perdura_model_call_duration_seconds_count', 'model'],
    ['perdura_model_cost_dollars_total', 'model'],
    ['perdura_mcp_errors_total', 'server'],
  ] as const)
    expect(namesOf(metric, label).size, metric).toBe(51);
  expect(sum('perdura_mcp_errors_total', { server: 'other' })).toBe(151);
  expect([...series.keys()].filter((key) => key.length >= 200)).toEqual([]);
});

it('counts each figure of an answer under its own kind, and adds up answers of one model', async () => {
  const meters = createMeters();
  const first = { total_in: 1_009, total_out: 211, cache_read: 307, cache_write: 53 };
  const second = { total_in: 2_003, total_out: 401, cache_read: 701, cache_write: 97 };
  meters.modelAnswered({ model: 'm', usage: first, cost: 3 });
  meters.modelAnswered({ model: 'm', usage: second, cost: 5 });
  meters.modelAnswered({ model: 'mm', usage: { total_in: 17, total_out: 19, cache_read: 23, cache_write: 29 }, cost: 31 });
  const { sum } = parsedMetrics(await meters.text());
  const countTokens = (model: string) =>
    ['input', 'output', 'cache_read', 'cache_write'].map((kind) => sum('perdura_model_tokens_total', { model, kind }));
  expect(countTokens('m')).toEqual([3_012, 612, 1_008, 150]);
  expect(countTokens('mm')).toEqual([17, 19, 23, 29]);
  expect(['m', 'mm'].map((model) => sum('perdura_model_cost_dollars_total', { model }))).toEqual([8, 31]);
});

it('counts what an answer cost whether or not it could be used, and nothing without an answer', async () => {
  const meters = createMeters();
  const usage = { total_in: 1_009, total_out: 211, cache_read: 307, cache_write: 53 };
  const answered = { model: 'by', usage };
  const unusable = new ModelFailure('empty', { code: 'empty_answer', recoverable: false, answer: answered });
  const silent = new ModelFailure('down', { code: 'model_unreachable', recoverable: true });
  const outcomes = [
    async () => ({ reply: { ...answered, text: 'Yes.', calls: [], finish: 'stop', extra: null }, cursor: null }),
    () => Promise.reject(unusable),
    () => Promise.reject(silent),
  ];
  for (const exchange of outcomes) {
    const runtime = measureRuntime({ exchange }, { by: { input: 1_000_000, output: 1_000_000 } }, meters);
    await runtime.exchange(exchangeOf({ model: 'asked' }), () => {}, new AbortController().signal).catch(() => {});
  }
  const { sum } = parsedMetrics(await meters.text());
  const kinds = ['input', 'output', 'cache_read', 'cache_write'];
  expect(kinds.map((kind) => sum('perdura_model_tokens_total', { model: 'by', kind }))).toEqual([2_018, 422, 614, 106]);
  expect(sum('perdura_model_cost_dollars_total', { model: 'by' })).toBe(2 * (1_009 + 211));
  expect(sum('perdura_model_call_duration_seconds_count', { outcome: 'failed' })).toBe(2);
});

it('distinguishes a call that was stopped from one that failed', async () => {
  const ended: string[] = [];
  const note = (outcome: string) => void ended.push(outcome);
  const stopped = AbortSignal.abort();
  const going = new AbortController().signal;
  await timeWork(Promise.resolve(1), { signal: going }, note);
  await timeWork(Promise.resolve(1), { signal: going, failed: () => true }, note);
  await timeWork(Promise.reject(new Error('no')), { signal: going }, note).catch(() => {});
  await timeWork(Promise.reject(new Error('no')), { signal: stopped }, note).catch(() => {});
  expect(ended).toEqual(['ok', 'failed', 'failed', 'stopped']);
});

it('counts what goes wrong with each server, and what is started, sent and given up, whatever the outcome', async () => {
  const meters = createMeters();
  const down = () => Promise.reject(new Error('down'));
  const [going, stopped] = [new AbortController().signal, AbortSignal.abort()];
  const use = async (name: string, work: () => Promise<unknown>, signal: AbortSignal) => {
    const pool = measurePool({ use: work } as never, meters);
    await pool.use({ target: { name } } as never, async () => {}, signal).catch(() => {});
  };
  for (const _ of [1, 2, 3]) await use('books', down, going);
  await use('books', down, stopped);
  await use('maps', down, going);
  await use('maps', async () => 'found', going);
  const runner = measureRunner({ run: down, startConfined: down } as never, meters);
  for (const _ of [1, 2, 3, 4, 5]) await runner.run({} as never, going).catch(() => {});
  for (const _ of [1, 2, 3]) await runner.startConfined({} as never).catch(() => {});
  const webhooks = measureWebhooks({ note: async () => {}, giveUp: async () => {} } as never, meters);
  for (const delivered of [true, false, false]) await webhooks.note('d', { delivered } as never);
  for (const _ of [1, 2]) await webhooks.giveUp('d');
  const { sum } = parsedMetrics(await meters.text());
  expect(['books', 'maps'].map((server) => sum('perdura_mcp_errors_total', { server }))).toEqual([3, 1]);
  expect(['call', 'command'].map((kind) => sum('perdura_sandbox_starts_total', { kind }))).toEqual([5, 3]);
  expect(['ok', 'failed'].map((outcome) => sum('perdura_webhook_attempts_total', { outcome }))).toEqual([1, 2]);
  expect(sum('perdura_webhooks_given_up_total', {})).toBe(2);
  for (const reason of ['quota', 'quota', 'quota', 'overloaded'] as const) meters.fellBack(reason);
  const counted = parsedMetrics(await meters.text());
  const fallbacks = ['quota', 'overloaded'].map((reason) => counted.sum('perdura_model_fallbacks_total', { reason }));
  expect(fallbacks).toEqual([3, 1]);
});

it('counts no attempt of a webhook that is not on record', async () => {
  const meters = createMeters();
  const webhooks = measureWebhooks({ note: () => Promise.reject(new Error('down')) } as never, meters);
  await webhooks.note('d', { delivered: true } as never).catch(() => {});
  expect(parsedMetrics(await meters.text()).sum('perdura_webhook_attempts_total', {})).toBe(0);
});

it('measures how long text waits for its record, from the first of each batch', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lags: number[] = [];
  let send: (text: string) => Promise<void> = async () => {};
  const batches = (deliver: typeof send) => {
    send = deliver;
    return { push() {}, async flush() {}, complete: () => true };
  };
  const written: string[] = [];
  const record = async (text: string) => {
    vi.advanceTimersByTime(7);
    written.push(text);
  };
  const { push } = measurePublishers(
    batches as never,
    { textPublished: (seconds: number) => lags.push(seconds) } as never,
  )(record as never);
  push('one');
  vi.advanceTimersByTime(100);
  push(' two');
  vi.advanceTimersByTime(50);
  await send('one two');
  vi.advanceTimersByTime(1_000);
  push(' three');
  await send(' three');
  await send('nothing was pushed');
  vi.useRealTimers();
  expect([written.length, lags]).toEqual([3, [0.157, 0.007]]);
});

it('reports the open work by status, trigger and reason, also where there is none', async () => {
  const work = {
    runs: [
      { status: 'running', trigger: 'schedule', count: 7, oldest: 11 },
      { status: 'waiting', trigger: 'prompt', count: 13, oldest: 17 },
    ],
    calls: [
      { status: 'waiting_approval', count: 19 },
      { status: 'waiting_client', count: 23 },
      { status: 'waiting_answer', count: 29 },
    ],
    ...{ webhooks: 31, oldest_webhook: 37, unsent_audit: 41 },
  };
  const queue = { queue: 'q', kind: 'workflow' as const, waiting: 43, oldest_seconds: 47, workers: 53 };
  const { sum } = parsedMetrics(await stateText({ workload: async () => work as never, backlogs: async () => [queue], budgets }));
  const open = (status: string, trigger: string) => sum('perdura_runs_open', { status, trigger });
  expect([open('running', 'schedule'), open('waiting', 'prompt'), open('running', 'prompt')]).toEqual([7, 13, 0]);
  expect(sum('perdura_runs_oldest_age_seconds', { status: 'waiting' })).toBe(17);
  const reasons = ['approval', 'reconciliation', 'answer', 'client'];
  expect(reasons.map((reason) => sum('perdura_calls_waiting', { reason }))).toEqual([19, 0, 29, 23]);
  const single = ['perdura_webhooks_pending', 'perdura_webhooks_oldest_age_seconds', 'perdura_audit_entries_unsent'];
  expect(single.map((name) => sum(name, {}))).toEqual([31, 37, 41]);
  const queues = ['perdura_queue_backlog', 'perdura_queue_oldest_age_seconds', 'perdura_queue_pollers'];
  expect(queues.map((name) => sum(name, { queue: 'q', kind: 'workflow' }))).toEqual([43, 47, 53]);
});

const budgets = async () => [
  { id: 'b-1', scope: 'person', unit: 'usd' as const, limit: 61, spent: 67, reserved: 71, used: 0.73 },
];

it('reports that the database or the engine does not answer, and what the other one knows', async () => {
  const down = () => Promise.reject(new Error('down'));
  const backlogs = async () => [{ queue: 'q', kind: 'activity' as const, waiting: 3, oldest_seconds: 9, workers: 0 }];
  const { sum, series } = parsedMetrics(await stateText({ workload: down, backlogs, budgets: down }));
  expect(sum('perdura_source_up', { source: 'database' })).toBe(0);
  expect(sum('perdura_source_up', { source: 'engine' })).toBe(1);
  expect(sum('perdura_queue_backlog', { queue: 'q' })).toBe(3);
  expect([...series.keys()].filter((key) => key.startsWith('perdura_runs'))).toEqual([]);
  const work = { runs: [], calls: [], webhooks: 5, oldest_webhook: 0, unsent_audit: 0 };
  const other = parsedMetrics(await stateText({ workload: async () => work, backlogs: down, budgets }));
  expect(other.sum('perdura_source_up', { source: 'database' })).toBe(1);
  expect(other.sum('perdura_source_up', { source: 'engine' })).toBe(0);
  expect(other.sum('perdura_webhooks_pending', {})).toBe(5);
  expect([...other.series.keys()].filter((key) => key.startsWith('perdura_queue'))).toEqual([]);
});

const ROOT = resolve(import.meta.dirname, '../..');

it('reports each number of the pending work and of the backlogs as its own metric', async () => {
  const work = {
    runs: [
      { status: 'running', trigger: 'prompt', count: 2, oldest: 3 },
      { status: 'waiting', trigger: 'schedule', count: 5, oldest: 7 },
    ],
    calls: [
      { status: 'waiting_approval' as const, count: 11 },
      { status: 'waiting_reconciliation' as const, count: 13 },
      { status: 'waiting_answer' as const, count: 17 },
      { status: 'waiting_client' as const, count: 19 },
    ],
    ...{ webhooks: 23, oldest_webhook: 29, unsent_audit: 31 },
  };
  const backlogs = [
    { queue: 'q', kind: 'workflow' as const, waiting: 37, oldest_seconds: 41, workers: 43 },
    { queue: 'q', kind: 'activity' as const, waiting: 47, oldest_seconds: 53, workers: 59 },
  ];
  const text = await stateText({ workload: async () => work, backlogs: async () => backlogs, budgets });
  expect(Object.fromEntries(parsedMetrics(text).series)).toEqual({
    'perdura_source_up{source="database"}': 1,
    'perdura_source_up{source="engine"}': 1,
    'perdura_runs_open{status="pending",trigger="prompt"}': 0,
    'perdura_runs_open{status="running",trigger="prompt"}': 2,
    'perdura_runs_open{status="waiting",trigger="prompt"}': 0,
    'perdura_runs_open{status="waiting",trigger="schedule"}': 5,
    'perdura_runs_oldest_age_seconds{status="running",trigger="prompt"}': 3,
    'perdura_runs_oldest_age_seconds{status="waiting",trigger="schedule"}': 7,
    'perdura_calls_waiting{reason="approval"}': 11,
    'perdura_calls_waiting{reason="reconciliation"}': 13,
    'perdura_calls_waiting{reason="answer"}': 17,
    'perdura_calls_waiting{reason="client"}': 19,
    perdura_webhooks_pending: 23,
    perdura_webhooks_oldest_age_seconds: 29,
    perdura_audit_entries_unsent: 31,
    'perdura_queue_backlog{queue="q",kind="workflow"}': 37,
    'perdura_queue_oldest_age_seconds{queue="q",kind="workflow"}': 41,
    'perdura_queue_pollers{queue="q",kind="workflow"}': 43,
    'perdura_queue_backlog{queue="q",kind="activity"}': 47,
    'perdura_queue_oldest_age_seconds{queue="q",kind="activity"}': 53,
    'perdura_queue_pollers{queue="q",kind="activity"}': 59,
    'perdura_budget_limit{budget="b-1",scope="person",unit="usd"}': 61,
    'perdura_budget_spent{budget="b-1",scope="person",unit="usd"}': 67,
    'perdura_budget_reserved{budget="b-1",scope="person",unit="usd"}': 71,
    'perdura_budget_used_ratio{budget="b-1",scope="person"}': 0.73,
  });
});

it('is documented: each metric of the code has a row, and each row a metric', async () => {
  const work = {
    runs: [{ status: 'running', trigger: 'prompt', count: 1, oldest: 1 }],
    calls: [],
    webhooks: 0,
    unsent_audit: 0,
    oldest_webhook: 0,
  };
  const state = await stateText({ workload: async () => work, backlogs: async () => [], budgets });
  const { families } = parsedMetrics(`${await createMeters().text()}\n${state}`);
  const streams = [...readFileSync(join(ROOT, 'src/api/service/metrics.ts'), 'utf8').matchAll(/'(perdura_\w+)'/g)].map(
    ([, name]) => name,
  );
  const page = readFileSync(join(ROOT, 'docs/observe.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `(perdura_\w+)`/gm)].map(([, name]) => name);
  expect(documented.sort()).toEqual([...families.map(({ name }) => name), ...streams].sort());
});
