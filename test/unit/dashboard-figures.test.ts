import { join } from 'node:path';
import { MantineProvider } from '@mantine/core';
import type * as Queries from '@tanstack/react-query';
import { type ComponentType, createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type * as Router from 'react-router';
import { runnerImport } from 'vite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as Context from '../../src/dashboard/api/context.tsx';
import { browserSession } from '../../src/dashboard/api/session.ts';
import { callsLine, formatElapsed, stepLine, tokensLine } from '../../src/dashboard/runs/compared.ts';
import { emptyRun } from '../../src/dashboard/runs/run-state.ts';

const DASHBOARD = join(import.meta.dirname, '../../src/dashboard');
const MODULE = `
export { default as Usage } from '${DASHBOARD}/usage/usage.tsx';
export { default as EvaluationPage } from '${DASHBOARD}/datasets/evaluation-page.tsx';
export { Today } from '${DASHBOARD}/overview/today.tsx';
export { RunHead } from '${DASHBOARD}/runs/run-head.tsx';
export { SpanPanel } from '${DASHBOARD}/runs/span-panel.tsx';
export { AlertPanel } from '${DASHBOARD}/resources/panels/alert-panel.tsx';
export { WorldProvider } from '${DASHBOARD}/api/context.tsx';
export { MemoryRouter, Routes, Route } from 'react-router';
export { QueryClient, QueryCache, QueryClientProvider } from '@tanstack/react-query';`;

type Screens = Record<'Usage' | 'EvaluationPage' | 'Today' | 'RunHead' | 'SpanPanel' | 'AlertPanel', ComponentType<any>>;
type Loaded = Screens &
  Pick<typeof Context, 'WorldProvider'> &
  Pick<typeof Router, 'MemoryRouter' | 'Routes' | 'Route'> &
  Pick<typeof Queries, 'QueryClient' | 'QueryCache' | 'QueryClientProvider'>;
let the: Loaded;
/** Imports the screens through Vite, because Node does not read JSX; all at once, so that they share React Query and Router. */
beforeAll(async () => {
  vi.stubGlobal('sessionStorage', NO_STORE);
  vi.stubGlobal('location', { origin: 'https://perdura.example' });
  const plugin = {
    name: 'screens',
    resolveId: (id: string) => (id === 'screens' ? id : null),
    load: (id: string) => (id === 'screens' ? MODULE : null),
  };
  the = (await runnerImport<Loaded>('screens', { configFile: false, logLevel: 'silent', plugins: [plugin] })).module;
});

afterAll(() => vi.unstubAllGlobals());

/** The replies of the service, by operation; a list is the reply of its first page. */
type Replies = Record<string, unknown>;

/** Returns a cache in which each query has its reply already. */
function createClient(replies: Replies) {
  const cache = new the.QueryCache();
  const build = cache.build.bind(cache);
  cache.build = ((client: Queries.QueryClient, options: Queries.QueryOptions, state?: Queries.QueryState) => {
    const [operation, input] = options.queryKey as [string, object];
    const reply = replies[operation];
    const data = 'list' in input ? { pages: [reply], pageParams: [null] } : reply;
    const known = {
      ...{ data, dataUpdateCount: 1, dataUpdatedAt: Date.now(), error: null, errorUpdateCount: 0, errorUpdatedAt: 0 },
    };
    const idle = { fetchFailureCount: 0, fetchFailureReason: null, fetchMeta: null, isInvalidated: false, fetchStatus: 'idle' };
    return build(
      client,
      options as never,
      state ?? (reply === undefined ? undefined : ({ ...known, ...idle, status: 'success' } as never)),
    );
  }) as typeof cache.build;
  return new the.QueryClient({ queryCache: cache });
}

const NO_STORE = { getItem: () => null, setItem: () => {}, removeItem: () => {} } as unknown as Storage;

/** Returns the HTML of a screen that has these replies. */
function render(screen: ComponentType<any>, { replies = {}, props = {}, at = '/', path = '*' }: Partial<Shown>): string {
  const { WorldProvider, QueryClientProvider, MemoryRouter, Routes, Route } = the;
  const route = createElement(Route, { path, element: createElement(screen, props) });
  const page = createElement(QueryClientProvider, { client: createClient(replies) }, createElement(Routes, null, route));
  const session = browserSession({ tab: NO_STORE, computer: NO_STORE });
  const world = createElement(WorldProvider as ComponentType<object>, { session } as object, page);
  return renderToStaticMarkup(createElement(MantineProvider, null, createElement(MemoryRouter, { initialEntries: [at] }, world)));
}
interface Shown {
  replies: Replies;
  props: object;
  at: string;
  /** The route, with the names of its parameters. */
  path: string;
}

const toText = (html: string) =>
  html
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
/** Returns the labelled facts of a screen. */
const readFacts = (html: string) =>
  Object.fromEntries([...html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)].map(([, label, value]) => [label, toText(value!)]));

// Every number differs from all others and from their sums.
const USAGE = { total_in: 101_009, total_out: 20_011, cache_read: 3_001, cache_write: 401, premium_requests: 53, cost: 61.27 };
const AT = '2019-03-05T12:11:13.000Z';
const TASK = {
  ...{ id: 't', status: 'completed', error: null, error_code: null, prompt: 'Look.', workflow_id: 'w', workflow_title: 'Daily' },
  ...{
    agent_id: 'a',
    agent_name: 'Clerk',
    model: 'large',
    turns: 19,
    steps: 23,
    usage: USAGE,
    attachments: [],
    forked_from: null,
  },
  ...{ created_at: AT, started_at: AT, completed_at: AT, elapsed_seconds: 4_523, turn_limit_reached: false },
};
const CALL = {
  call_id: '1-1',
  name: 'look',
  attempts: 7,
  errors: 3,
  failed: false,
  duration_ms: 503,
  effect: 'read',
  result: '4',
};
const STEP = {
  ...{ step: 3, model: 'large', attempts: 5, errors: 2, error: null, usage: { ...USAGE, estimated: false }, duration_ms: 7_919 },
  ...{ finish: 'stop', input: [], output: 'So.', tool_calls: [CALL, { ...CALL, call_id: '1-2', failed: true }] },
};

describe('each figure of a screen is the one that its label says', () => {
  it('at the head of a run', () => {
    const budget = { max_cost_usd: 97.5, max_tokens: 300_007, max_seconds: 7_201 };
    const forks = [{ task_id: 'f', step: 17, status: 'failed', created_at: AT }];
    const detail = { ...TASK, budget, forks, priced: true, waiting_seconds: 1_009, working_seconds: 3_514 };
    const scores = [
      { id: 's', thumb: null, value: 0.31 },
      { id: 'u', thumb: 'up', value: null },
    ];
    const replies = { get_task: detail, list_task_scores: { items: scores, total: 6, next: null } };
    const props = { task: TASK, status: 'completed', followed: { run: emptyRun, connection: 'ended', problem: null } };
    const { Created, ...facts } = readFacts(render(the.RunHead, { replies, props }));
    expect(facts).toEqual({
      ...{ Status: 'completed', Workflow: 'Daily', Agent: 'Clerk', Model: 'large', Turns: '19', Cost: '$61.27' },
      ...{ Tokens: '101,009 in, 20,011 out', Budget: '$61.27 of $97.50, 121,020 of 300,007 tokens, 1 h 15 min of 2 h 0 min' },
      ...{ Duration: '1 h 15 min', Working: '58 min 34 s', Waiting: '16 min 49 s', Scores: '0.31, thumb up and 4 more' },
      Forks: 'from step 17 (failed)',
    });
    expect(Created).toContain('5 Mar 2019');
  });

  it('at the head of an evaluation', () => {
    const counts = { items: 1_009, passed: 701, failed: 211, errors: 97, pass_rate: 701 / 1_009, parallel: 13 };
    const times = { created_at: AT, completed_at: '2019-03-05T13:34:18.000Z' };
    const names = {
      id: 'e',
      dataset_id: 'd',
      workflow_id: 'w',
      workflow_title: 'Daily',
      definition_hash: 'abcdef01',
      model: 'large',
    };
    const more = { status: 'completed', baseline_id: null, regressions: [], graders: [], effects: 'stub' };
    const replies = {
      get_evaluation: { ...counts, ...times, ...names, ...more },
      get_dataset: { id: 'd', name: 'Set' },
      list_evaluation_results: { items: [], total: 0, next: null },
    };
    const html = render(the.EvaluationPage, { replies, at: '/datasets/d/runs/e', path: '/datasets/:id/runs/:run_id' });
    expect(readFacts(html)).toMatchObject({
      ...{ 'Pass rate': '69.4 %', Passed: '701 of 1009', Failed: '211', 'Not graded': '97', 'Runs at once': '13' },
      Took: '1 h 23 min',
    });
  });

  it('in the details of a step and of a call', () => {
    const span = { id: '3', parent: null, kind: 'model', step: 3, name: 'large', status: 'completed', attempts: 5, detail: null };
    const props = {
      task: TASK,
      now: 0,
      close() {},
      span: { ...span, copied: false, start: AT, end: '2019-03-05T12:13:16.000Z' },
    };
    const replies = { get_task_step: STEP };
    expect(readFacts(render(the.SpanPanel, { replies, props }))).toMatchObject({
      ...{ Duration: '2 min 3 s', Attempts: '5', Tokens: '101,009 in, 20,011 out', Cost: '$61.27' },
    });
    const of_call = { ...props, span: { ...props.span, id: '1-1', kind: 'tool' } };
    expect(readFacts(render(the.SpanPanel, { replies, props: of_call }))).toMatchObject({ Attempts: '7' });
  });

  it('in the comparison of runs', () => {
    expect(stepLine(STEP as never)).toBe('large · 7.9 s · 121,020 tokens · $61.27 · look, look (failed)');
    expect(formatElapsed(TASK)).toBe('1 h 15 min');
    expect(tokensLine(TASK as never)).toBe('101,009 in, 20,011 out');
    expect(callsLine({ steps_detail: [STEP, STEP] } as never)).toBe('4 calls');
  });

  it('of the usage of a period', () => {
    const counts = { runs: 4_001, completed: 3_301, failed: 503, halted: 197, estimated: 17 };
    const rows = [
      { key: 'k', label: 'Office', at: null, ...counts, ...USAGE },
      {
        key: 'l',
        label: 'Shop',
        at: null,
        ...counts,
        runs: 2_003,
        failed: 101,
        ...USAGE,
        total_in: 7_001,
        total_out: 503,
        cost: 11.5,
      },
    ];
    const none = { rows: [] };
    const html = render(the.Usage, {
      replies: { get_usage: { from: AT, to: AT, rows }, get_tool_usage: none, get_model_usage: none },
    });
    expect(toText(html)).toContain('6,004 Runs 604 (10 %) Failed 128,524 Tokens $72.77 Cost');
  });

  it('of the overview', () => {
    const usage = { ...USAGE, runs: 4_001, completed: 3_301, failed: 503, halted: 197 };
    const tool = { calls: 7, failed: 3, error_rate: 0.4, p50_ms: 11 };
    const tools = [
      { ...tool, name: 'quick', p95_ms: 503, p99_ms: 7_919 },
      { ...tool, name: 'slow', p95_ms: 1_301, p99_ms: 1_907 },
    ];
    const waiting = { ...TASK, started_at: new Date(Date.now() - 3 * 3_600_000).toISOString() };
    const replies = {
      get_usage: { rows: [usage] },
      get_tool_usage: { rows: tools },
      list_tasks: { items: [waiting], total: 1, next: null },
    };
    const text = toText(render(the.Today, { replies }));
    expect(text).toContain('Failed, last 24 hours 13 % of 4,001 runs');
    expect(text).toContain('Waiting longest Daily started 3 hours ago');
    expect(text).toContain('Spent today $61.27 121,020 tokens');
    expect(text).toContain('Slowest tool, last 24 hours slow 95 % within 1.3 s');
  });

  it('of an alert', () => {
    const record = {
      id: 'a',
      measure: 'spend',
      last_value: 12.34,
      threshold: 45.678,
      state: 'ok',
      state_since: AT,
      enabled: true,
    };
    const replies = { list_alert_events: { items: [], total: 0, next: null } };
    const props = { record: { ...record, measured_at: AT, muted_until: null } };
    expect(readFacts(render(the.AlertPanel, { replies, props }))).toMatchObject({ Measured: '$12.34', State: 'ok' });
  });
});
