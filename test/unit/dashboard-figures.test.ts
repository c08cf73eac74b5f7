import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callsLine, formatElapsed, stepLine, tokensLine } from '../../src/dashboard/runs/compared.ts';
import { emptyRun } from '../../src/dashboard/runs/run-state.ts';
import { closeScreens, openScreens, readFacts, readLinks, SHOWN_TASK, toText } from '../support/browser/rendered.ts';

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens();
}, 60_000);
afterAll(closeScreens);

// Every number differs from all others and from their sums.
const USAGE = { total_in: 101_009, total_out: 20_011, cache_read: 3_001, cache_write: 401, premium_requests: 53, cost: 61.27 };
const AT = '2019-03-05T12:11:13.000Z';
const TASK = {
  ...SHOWN_TASK,
  ...{ status: 'completed', usage: USAGE, created_at: AT, started_at: AT, completed_at: AT, elapsed_seconds: 4_523 },
  ...{ definition_hash: 'abcdef01', trigger: 'manual', scheduled_agent_id: null },
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
  it('among the facts about a run', () => {
    const budget = { max_cost_usd: 97.5, max_tokens: 300_007, max_seconds: 7_201 };
    const forks = [{ task_id: 'f', step: 17, status: 'failed', created_at: AT }];
    const detail = { ...TASK, budget, forks, priced: true, waiting_seconds: 1_009, working_seconds: 3_514 };
    const scores = [
      { id: 's', thumb: null, value: 0.31 },
      { id: 'u', thumb: 'up', value: null },
    ];
    const versions = { items: [{ number: 17, definition_hash: 'abcdef01' }], total: 1, next: null };
    const replies = {
      get_task: detail,
      list_task_scores: { items: scores, total: 6, next: null },
      list_workflow_versions: versions,
    };
    const props = { task: TASK, status: 'completed', followed: { run: emptyRun, connection: 'ended', problem: null } };
    const { Created, Started, Ended, ...facts } = readFacts(the.render(the.RunFacts, { replies, props }));
    expect([Created, Started, Ended]).toEqual(Array(3).fill(expect.stringContaining('5 Mar 2019')));
    expect(facts).toEqual({
      ...{
        Version: 'Version 17',
        Trigger: 'manual',
        Workflow: 'Daily',
        Agent: 'Clerk',
        Model: 'large',
        Turns: '19',
        Cost: '$61.27',
      },
      ...{ Tokens: '101,009 in, 20,011 out', Budget: '$61.27 of $97.50 121,020 of 300,007 tokens 1 h 15 min of 2 h 0 min' },
      ...{ Duration: '1 h 15 min', Working: '58 min 34 s', Waiting: '16 min 49 s', Scores: '0.31, thumb up and 4 more' },
      Forks: 'from step 17 (failed)',
    });
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
    const html = the.render(the.EvaluationPage, { replies, at: '/datasets/d/runs/e', path: '/datasets/:id/runs/:run_id' });
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
    expect(readFacts(the.render(the.SpanPanel, { replies, props }))).toMatchObject({
      ...{ Duration: '2 min 3 s', Attempts: '5', Tokens: '101,009 in, 20,011 out', Cost: '$61.27' },
    });
    const of_call = { ...props, span: { ...props.span, id: '1-1', kind: 'tool' } };
    expect(readFacts(the.render(the.SpanPanel, { replies, props: of_call }))).toMatchObject({ Attempts: '7' });
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
    const budget = {
      ...{ id: 'b-7', name: 'Team', scope: 'installation', subject_id: null, period: 'week', warn_at: [0.8], limit_usd: null },
      ...{ limit_tokens: 5_003, spent: 1_009, reserved: 211, left: 3_783, used: 1_009 / 5_003, period_ends_at: AT },
    };
    const budgets = { items: [budget], total: 1, next: null };
    const html = the.render(the.Usage, {
      replies: { get_usage: { from: AT, to: AT, rows }, get_tool_usage: none, get_model_usage: none, list_budgets: budgets },
    });
    expect(toText(html)).toContain('Team the installation 5,003 tokens a week 1,009 tokens 211 tokens 3,783 tokens (75.6 %)');
    expect(readLinks(html)).toMatchObject({ Team: '/budgets/b-7', 'New budget': '/budgets/new' });
    expect(toText(html)).toContain('6,004 Runs 604 (10 %) Failed 128,524 Tokens $72.77 Cost');
  });

  it('of the overview', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(2026, 0, 31, 15, 7, 30) });
    const midnight = new Date(2026, 0, 31).toISOString();
    const day = { ...USAGE, runs: 4_001, completed: 3_301, failed: 503, halted: 197, cost: 97.13 };
    const today = { ...day, ...USAGE, runs: 11, failed: 7 };
    const tool = { calls: 7, failed: 3, error_rate: 0.4, p50_ms: 11 };
    const tools = [
      { ...tool, name: 'quick', p95_ms: 503, p99_ms: 7_919 },
      { ...tool, name: 'slow', p95_ms: 1_301, p99_ms: 1_907 },
    ];
    const waiting = { ...TASK, started_at: new Date(Date.now() - 3 * 3_600_000).toISOString() };
    const spans: [operation: string, hours: number][] = [];
    const note = (operation: string, { from, to }: { from: string; to: string }) =>
      void spans.push([operation, (Date.parse(to) - Date.parse(from)) / 3_600_000]);
    const replies = {
      get_usage({ query }: { query: { from: string; to: string } }) {
        note('get_usage', query);
        return { rows: [query.from === midnight ? today : day] };
      },
      get_tool_usage({ query }: { query: { from: string; to: string } }) {
        note('get_tool_usage', query);
        return { rows: tools };
      },
      list_tasks: ({ query: { status, sort, limit } }: { query: { status: string; sort: string; limit: number } }) =>
        status === 'waiting' && sort === 'oldest' && limit === 1 ? { items: [waiting], total: 1, next: null } : undefined,
    };
    const text = toText(the.render(the.Today, { replies }));
    vi.useRealTimers();
    expect(text).toContain('Failed, last 24 hours 13 % of 4,001 runs');
    expect(text).toContain('Waiting longest Daily started 3 hours ago');
    expect(text).toContain('Spent today $61.27 121,020 tokens');
    expect(text).toContain('Slowest tool, last 24 hours slow 95 % within 1.3 s');
    // Up to the end of the minute, so that a run that has ended just now is among them.
    expect(spans).toEqual([
      ['get_usage', 24],
      ['get_usage', 15 + 8 / 60],
      ['get_tool_usage', 24],
    ]);
  });

  it('of the runs of each of the last 24 hours', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 31, 15, 7, 30) });
    const asked: object[] = [];
    const row = (hour: number, completed: number, failed: number, halted: number) => ({
      ...{ at: new Date(Date.UTC(2026, 0, 31, hour)).toISOString(), key: null, label: null },
      ...{ runs: completed + failed + halted, completed, failed, halted },
    });
    const replies = {
      get_usage({ query }: { query: object }) {
        asked.push(query);
        return { from: '2026-01-30T16:00:00.000Z', to: AT, rows: [row(3, 101, 53, 7), row(15, 11, 0, 2)] };
      },
    };
    const html = the.render(the.RunsOverTime, { replies });
    const none = the.render(the.RunsOverTime, { replies: { get_usage: { from: AT, to: AT, rows: [] } } });
    vi.useRealTimers();
    expect(asked).toEqual([{ from: '2026-01-30T16:00:00.000Z', to: '2026-01-31T16:00:00.000Z', interval: 'hour' }]);
    expect(toText(html)).toContain('174 runs ended in the last 24 hours 112 completed 9 halted 53 failed');
    expect(readLinks(html)).toMatchObject({ '53 failed': '/tasks?status=failed&hours=24' });
    const bars = [...html.matchAll(/class="bar" title="[\d:]+: ([^"]+)"/g)].map(([, words]) => words);
    expect([bars.length, bars[11], bars[23]]).toEqual([24, '101 completed, 7 halted, 53 failed', '11 completed, 2 halted']);
    expect(toText(none)).toBe('');
  });

  it.each([
    [0, 'quiet', '0 (0 %)'],
    [10, 'wait', '10 (10 %)'],
    [11, 'bad', '11 (11 %)'],
  ])('of %i failures among 101, with their tone', (failed, tone, text) => {
    const html = the.render(the.FailureRate, { props: { failed, of: 101 } });
    expect(html).toContain(`class="rate" data-tone="${tone}"`);
    expect(toText(html)).toBe(text);
  });

  it('of failures among none, as none', () => {
    const html = the.render(the.FailureRate, { props: { failed: 0, of: 0 } });
    expect(html).toContain('class="rate" data-tone="quiet"');
    expect(html).toContain('style="width:0%"');
  });

  it('of the usage of the period, people and groups that are asked for', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 31, 12, 7, 30) });
    const asked: Record<string, object[]> = {};
    const none = (operation: string) => [
      operation,
      ({ query }: { query: object }) => {
        asked[operation] = [...(asked[operation] ?? []), query];
        return { from: AT, to: AT, rows: [] };
      },
    ];
    const replies = Object.fromEntries(['get_usage', 'get_tool_usage', 'get_model_usage'].map(none));
    const askedAt = (address: string) => {
      for (const operation of Object.keys(asked)) delete asked[operation];
      the.render(the.Usage, { replies, at: address });
      return asked;
    };
    const to = '2026-01-31T12:08:00.000Z';
    const week = { from: '2026-01-24T12:08:00.000Z', to };
    expect(askedAt('/usage')).toMatchObject({
      get_usage: [
        { ...week, by: 'workflow' },
        { ...week, by: 'workflow', interval: 'day' },
      ],
      get_tool_usage: [week],
      get_model_usage: [week],
    });
    const day = { from: '2026-01-30T12:08:00.000Z', to, scope: 'all' };
    expect(askedAt('/usage?days=1&scope=all')).toMatchObject({
      get_usage: [
        { ...day, by: 'owner' },
        { ...day, by: 'owner', interval: 'hour' },
      ],
      get_tool_usage: [day],
      get_model_usage: [day],
    });
    expect(askedAt('/usage?days=30&by=model')).toMatchObject({
      get_usage: [{ from: '2026-01-01T12:08:00.000Z', to, by: 'model' }, {}],
    });
    expect(askedAt('/usage').get_usage?.[0]).not.toHaveProperty('scope');
    vi.useRealTimers();
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
    expect(readFacts(the.render(the.AlertPanel, { replies, props }))).toMatchObject({ Measured: '$12.34', State: 'ok' });
  });
});
