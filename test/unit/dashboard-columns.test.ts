import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MantineProvider } from '@mantine/core';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type * as Router from 'react-router';
import { beforeAll, describe, expect, it } from 'vitest';
import type { UsageRow } from '../../src/contracts/usage.ts';
import type * as AuditColumns from '../../src/dashboard/audit/audit.tsx';
import type * as EvaluationColumns from '../../src/dashboard/datasets/evaluations.tsx';
import type * as BudgetColumns from '../../src/dashboard/resources/budget-columns.tsx';
import type * as Catalog from '../../src/dashboard/resources/catalog.tsx';
import type * as AlertColumns from '../../src/dashboard/resources/panels/alert-panel.tsx';
import type * as ErrorColumns from '../../src/dashboard/runs/errors-table.tsx';
import type * as ScoreColumns from '../../src/dashboard/runs/scores.tsx';
import type * as TaskColumns from '../../src/dashboard/runs/task-columns.tsx';
import type * as SystemColumns from '../../src/dashboard/system/system.tsx';
import type { Column } from '../../src/dashboard/ui/list.tsx';
import type * as UsageColumns from '../../src/dashboard/usage/columns.tsx';
import { toCsv } from '../../src/dashboard/usage/csv.ts';
import { MEASURES } from '../../src/dashboard/usage/measures.ts';
import type * as VersionColumns from '../../src/dashboard/workflows/versions.tsx';
import { DASHBOARD, importScreens } from '../support/browser/screen-modules.ts';

/** The files whose columns are compared: every file that exports some, and the catalog of resources. */
const FILES = globSync('**/*.tsx', { cwd: DASHBOARD }).filter((file) =>
  /^export const \w*[cC]olumns\b/m.test(readFileSync(join(DASHBOARD, file), 'utf8')),
);
const MODULE = `
${FILES.map((file) => `export * from '${DASHBOARD}/${file}';`).join('\n')}
export { CATALOG } from '${DASHBOARD}/resources/catalog.tsx';
export { MemoryRouter } from 'react-router';`;

type Loaded = typeof UsageColumns &
  typeof SystemColumns &
  typeof TaskColumns &
  typeof AlertColumns &
  Pick<typeof BudgetColumns, 'budgetColumns'> &
  Pick<typeof EvaluationColumns, 'evaluationColumns'> &
  Pick<typeof ErrorColumns, 'errorColumns'> &
  Pick<typeof AuditColumns, 'auditColumns'> &
  Pick<typeof ScoreColumns, 'scoreColumns'> &
  Pick<typeof VersionColumns, 'versionColumns' | 'qualityColumns'> &
  Pick<typeof Catalog, 'CATALOG'> &
  Pick<typeof Router, 'MemoryRouter'>;
let the: Loaded;
beforeAll(async () => {
  the = await importScreens<Loaded>(MODULE);
});

/** Returns the text of each column, by its label. */
function readCells<T>(columns: Column<T>[], row: T): Record<string, string> {
  const cells = columns.map(({ label, show }) => {
    const page = createElement(MantineProvider, null, createElement(the.MemoryRouter, null, show(row)));
    const text = renderToStaticMarkup(page).replace(/<style[\s\S]*?<\/style>|<[^>]+>/g, '');
    return [label, text];
  });
  return Object.fromEntries(cells);
}

/** Columns that are made of others. */
const PARTS = { selectableColumns: 'taskColumns with a box before each' };

/** Returns the texts of a resource's columns that need nothing but these fields. */
function showNumbers(resource: string, row: object): Record<string, string> {
  const names =
    { alerts: ['Measured', 'Fires at'], datasets: ['Items'], 'knowledge-items': ['Passages'], workflows: ['Runs'] }[resource] ??
    [];
  const columns = the.CATALOG[resource]!.columns.filter(({ label }) => names.includes(label));
  return readCells(columns, row as never);
}

// Every number differs from all others and from their sums.
const CALLS = { calls: 10_007, failed: 1_103, error_rate: 0.1102, p50_ms: 11, p95_ms: 503, p99_ms: 7_919 };
const TOKENS = { total_in: 101_009, total_out: 20_011, cache_read: 3_001, cache_write: 401, premium_requests: 53 };
const ROW: UsageRow = {
  ...{
    key: 'k',
    label: 'Office',
    at: null,
    runs: 4_001,
    completed: 3_301,
    failed: 503,
    halted: 197,
    estimated: 17,
    unpriced: 13,
  },
  ...{ ...TOKENS, cost: 61.27 },
};
const CALL_CELLS = { Calls: '10,007', Failed: '1,103 (11 %)', p50: '11 ms', p95: '503 ms', p99: '7.9 s' };

describe('each column shows the field that it names', () => {
  it('in the usage of groups', () => {
    const figures = { Runs: '4,001', Failed: '503 (13 %)', Halted: '197', 'Tokens in': '101,009', 'Tokens out': '20,011' };
    for (const by of ['agent', 'owner'])
      expect(readCells(the.groupColumns(by), ROW)).toEqual({
        [by === 'agent' ? 'Agent' : 'Owner']: 'Office',
        ...figures,
        Cost: '$61.27',
      });
  });

  it('in the usage of tools and of models', () => {
    expect(readCells(the.toolColumns, { name: 'look', ...CALLS })).toEqual({ Tool: 'look', ...CALL_CELLS });
    const model = { name: 'large', ...CALLS, total_in: 101_009, total_out: 20_011, cost: 61.27, unpriced: 19 };
    expect(readCells(the.modelColumns, model)).toEqual({ Model: 'large', ...CALL_CELLS, Tokens: '121,020', Cost: '$61.27' });
    expect(readCells(the.modelColumns, { ...model, name: '' })).toMatchObject({ Model: 'not named' });
  });

  it('in the list of budgets', () => {
    const budget = {
      ...{ name: 'Day', scope: 'installation', subject_id: null, period: 'day', warn_at: [0.8] },
      ...{ limit_usd: 53, limit_tokens: null, spent: 11.5, reserved: 7.25, left: 34.25, used: 11.5 / 53 },
      ...{ period_starts_at: '2019-03-04T12:11:13.000Z', period_ends_at: '2019-03-05T12:11:13.000Z' },
    };
    const cells = readCells(the.budgetColumns, budget as never);
    expect(cells).toEqual({
      ...{ Limits: 'the installation', Limit: '$53.00 a day', Spent: '$11.50', Reserved: '$7.25', Left: '$34.25 (64.6 %)' },
      'Period ends': expect.stringMatching(/^5 Mar 2019/),
    });
    const tokens = { ...budget, period: 'week', limit_usd: null, limit_tokens: 5_003, spent: 1_009, reserved: 211, left: 3_783 };
    expect(readCells(the.budgetColumns, tokens as never)).toMatchObject({
      ...{ Limit: '5,003 tokens a week', Spent: '1,009 tokens', Reserved: '211 tokens', Left: '3,783 tokens (75.6 %)' },
    });
    const colorOf = (more: object) => {
      const { show } = the.budgetColumns.find(({ label }) => label === 'Left')!;
      const page = createElement(MantineProvider, null, show({ ...budget, ...more } as never));
      return /--progress-section-color:var\(--mantine-color-(\w+)-filled\)/.exec(renderToStaticMarkup(page))?.[1];
    };
    expect([{ used: 0.79 }, { used: 0.8 }, { used: 1, left: 0 }].map(colorOf)).toEqual(['blue', 'yellow', 'red']);
  });

  it('in the list of runs', () => {
    const task = {
      ...{ id: 't', status: 'failed', error: 'No such thing', error_code: 'model_error', prompt: 'Look.', trigger: 'schedule' },
      ...{ workflow_id: 'w', workflow_title: 'Daily', agent_name: 'Clerk', model: 'large' },
      ...{ created_at: '2019-03-05T12:11:13.000Z', completed_at: '2020-04-06T08:12:14.000Z' },
      ...{ elapsed_seconds: 83, turns: 19, usage: { ...TOKENS, cost: 61.27, estimated: false } },
    };
    const { Created, ...cells } = readCells(the.taskColumns, task as unknown as Parameters<Loaded['taskColumns'][0]['show']>[0]);
    expect(cells).toEqual({
      ...{ Status: 'failedmodel_error', Prompt: 'Look.', Workflow: 'DailyClerk', Model: 'largeschedule' },
      ...{ Took: '1 min 23 s', Turns: '19', Tokens: '121,020', Cost: '$61.27' },
    });
    expect(Created).toContain('5 Mar 2019');
    const unknown = { ...task, status: 'pending', error: null, error_code: null, prompt: '', model: null, elapsed_seconds: null };
    expect(readCells(the.taskColumns, unknown as never)).toMatchObject({
      ...{ Status: 'pending', Prompt: '(empty)', Model: '—schedule', Took: '—' },
    });
    expect(readCells(the.taskColumns, { ...task, error: null } as never)).toMatchObject({ Status: 'failedmodel_error' });
  });

  it('in the evaluations of a dataset', () => {
    const row = { passed: 997, items: 1_009, failed: 7, errors: 5, pass_rate: 997 / 1_009, status: 'completed', parallel: 3 };
    const more = {
      workflow_title: 'Daily',
      definition_hash: 'abcdef0123456789',
      model: 'large',
      created_at: '2019-03-05T12:11:13.000Z',
    };
    expect(readCells(the.evaluationColumns, { ...row, ...more } as never)).toMatchObject({
      ...{ Workflow: 'Daily', Status: 'completed', 'Pass rate': '98.8 %', Passed: '997 of 1009', Version: 'abcdef01large' },
      Started: expect.stringContaining('5 Mar 2019'),
    });
    expect(readCells(the.evaluationColumns, { ...row, ...more, pass_rate: null, workflow_title: null } as never)).toMatchObject({
      ...{ Workflow: 'untitled', 'Pass rate': '—' },
    });
  });

  it('in the runs by error', () => {
    const row = {
      error_code: 'model_error',
      runs: 10_007,
      last_at: '2019-03-05T12:11:13.000Z',
      last_task_id: 't',
      last_error: 'No.',
    };
    const { Last, ...cells } = readCells(
      the.errorColumns(() => {}),
      row,
    );
    expect(cells).toEqual({ Error: 'model_error', Runs: '10,007', 'Last error': 'No.' });
    expect(Last).toMatch(/^5 Mar 2019, .* days ago\)$/);
  });

  it('in the audit', () => {
    const row = { principal: 'local:a', login: 'a', service_key_id: null, operation: 'create_agent', resource_type: 'agents' };
    const more = { resource_id: null, made_id: 'm', status: 409, address: '10.0.0.7', at: '2019-03-05T12:11:13.000Z' };
    expect(readCells(the.auditColumns({ set: () => {} }), { ...row, ...more } as never)).toEqual({
      ...{ Time: expect.stringContaining('5 Mar 2019'), Person: 'a', Action: 'create_agent', Resource: 'agentsm' },
      ...{ Status: '409', Address: '10.0.0.7' },
    });
    const by_key = { ...row, ...more, service_key_id: 'k', resource_id: 'r' };
    expect(readCells(the.auditColumns({ set: () => {} }), by_key as never)).toMatchObject({
      ...{ Person: 'awith a service key', Resource: 'agentsr' },
    });
  });

  it('on the page System', () => {
    const at = '2019-03-05T12:11:13.000Z';
    const beat = { silent: false, slots: 211, used: 53, disk_free: 7_000_000, seen_at: at, started_at: at };
    const worker = { name: '7@host', version: '1.2.3', build_id: null, roles: ['models', 'tools'], ...beat };
    const { 'Last seen': seen, ...cells } = readCells(the.workerColumns('1.2.3'), worker as never);
    expect(seen).toMatch(/^5 Mar 2019, .* days ago\)$/);
    expect(cells).toEqual({
      ...{ Worker: '7@host', State: 'works', Version: '1.2.3', Does: 'models, tools', Load: '53 of 211 (25 %)' },
      ...{ 'Free disk': '7.0 MB', Started: expect.stringContaining('5 Mar 2019') },
    });
    const other = { ...worker, silent: true, build_id: 'b7', disk_free: null };
    expect(readCells(the.workerColumns('1.2.4'), other as never)).toMatchObject({
      ...{ State: 'silent', Version: '1.2.3, not 1.2.4build b7', 'Free disk': '—' },
    });
    const queue = { queue: 'perdura', kind: 'activity', waiting: 4_001, oldest_seconds: 61, workers: 3 };
    const queue_cells = { Queue: 'perdura', Of: 'steps and calls', Waiting: '4,001', Oldest: '1 min 1 s', Workers: '3' };
    expect(readCells(the.queueColumns, queue as never)).toEqual(queue_cells);
    expect(readCells(the.queueColumns, { ...queue, waiting: 0, workers: 0 } as never)).toMatchObject({
      Oldest: '—',
      Workers: 'none',
    });
    expect(readCells(the.runColumns, { status: 'waiting', runs: 1_009, oldest_seconds: 7 })).toEqual({
      ...{ Status: 'waiting', Runs: '1,009', Oldest: '7.0 s' },
    });
    const home = { of: 'home', used_bytes: 3_000_000, free_bytes: 1_000_000, total_bytes: 4_000_000, error: null };
    expect(readCells(the.storageColumns, home as never)).toEqual({
      ...{ Of: 'Disk of the home folder', Used: '3.0 MB', Free: '1.0 MB (25 %)' },
    });
    const database = { ...home, of: 'database', free_bytes: null, total_bytes: null };
    expect(readCells(the.storageColumns, database as never)).toMatchObject({ Of: 'Database', Free: '—' });
    expect(readCells(the.storageColumns, { ...database, used_bytes: null, error: 'Down.' } as never)).toMatchObject({
      ...{ Of: 'DatabaseDown.', Used: '—', Free: '—' },
    });
    expect(readCells(the.checkColumns, { name: 'engine', ok: false, detail: 'Down.' })).toEqual({
      ...{ Service: 'engine', State: 'failed', Detail: 'Down.' },
    });
    const newest = [
      { task_id: 't1', login: 'bob', at, own: false },
      { task_id: 't2', login: 'alice', at, own: true },
    ];
    expect(readCells(the.failureColumns, { error_code: 'model_error', runs: 10_007, last_at: at, newest })).toEqual({
      ...{ Error: 'model_error', Runs: '10,007', Last: expect.stringContaining('5 Mar 2019') },
      Newest: expect.stringMatching(/^t1 of bob 5 Mar 2019.*t2 5 Mar 2019/),
    });
  });

  it('on the page System, with the figures under each other', () => {
    const { queueColumns, runColumns, storageColumns, failureColumns } = the;
    const tables: Column<never>[][] = [the.workerColumns('1.2.3'), queueColumns, runColumns, storageColumns, failureColumns];
    expect(tables.map((columns) => columns.filter(({ figure }) => figure).map(({ label }) => label))).toEqual([
      ['Load', 'Free disk'],
      ['Waiting', 'Oldest', 'Workers'],
      ['Runs', 'Oldest'],
      ['Used', 'Free'],
      ['Runs'],
    ]);
  });

  it('in the scores of a run', () => {
    const score = { thumb: null, value: 0.31, note: 'So.', created_at: '2019-03-05T12:11:13.000Z' };
    expect(readCells(the.scoreColumns, score as never)).toEqual({
      ...{ Score: '0.31', Note: 'So.', Given: expect.stringContaining('5 Mar 2019') },
    });
    expect(readCells(the.scoreColumns, { ...score, thumb: 'down', value: null } as never)).toMatchObject({ Score: 'thumb down' });
  });

  it('in the versions of a workflow', () => {
    const last_evaluation = { id: 'e', dataset_id: 'd', pass_rate: 0.6667, completed_at: '2019-03-05T12:11:13.000Z' };
    const version = {
      number: 17,
      runs: 2_003,
      current: false,
      origin: 'saved',
      created_by: 'a',
      definition_hash: 'h',
      last_evaluation,
    };
    const scored = { runs: 19, completed: 13, scored: 11, thumbs_up: 7, thumbs_down: 3, mean_value: 4.256 };
    const columns = [...the.versionColumns('w'), ...the.qualityColumns([{ ...scored, definition_hash: 'h' } as never])];
    expect(readCells(columns, { ...version, created_at: '2019-03-05T12:11:13.000Z' } as never)).toMatchObject({
      ...{ Version: 'Version 17', Runs: '2,003 runs', Scores: '7 up, 3 down, mean 4.26', 'Pass rate': '66.6 %' },
    });
    const scoresOf = (of: object) =>
      readCells(the.qualityColumns([{ ...scored, definition_hash: 'h', ...of } as never]), version as never).Scores;
    expect([scoresOf({ mean_value: null }), scoresOf({ thumbs_up: 0, thumbs_down: 0 }), scoresOf({ scored: 0 })]).toEqual([
      ...['7 up, 3 down', 'mean 4.26', '—'],
    ]);
  });

  it.each([
    ['failure_rate', '12.3 % failed', '45.7 % failed'],
    ['spend', '$12.34', '$45.68'],
    ['waiting', '12.3 min waiting', '45.7 min waiting'],
    ['provider_errors', '12.34 failed requests', '45.678 failed requests'],
    ['backlog', '12.34 pending', '45.678 pending'],
    ['budget', '12.3 % spent', '45.7 % spent'],
  ])('in the list and the history of alerts about %s', (measure, measured, threshold) => {
    const event = { at: '2019-03-05T12:11:13.000Z', state: 'firing', value: 12.34, threshold: 45.678, muted: false };
    const deliveries = [
      { channel: 'slack', to: 'hooks.slack.com', status: 'failed', attempts: 7, error: 'Refused' },
      { channel: 'email', to: 'a@b.example', status: 'delivered', attempts: 1, error: null },
    ];
    expect(readCells(the.alertEventColumns(measure), { ...event, deliveries } as never)).toEqual({
      ...{ Time: expect.stringContaining('5 Mar 2019'), Change: 'fired', Measured: measured, Threshold: threshold },
      Messages: 'failed slack hooks.slack.com7 attempts. Refuseddelivered email a@b.example',
    });
    const alert = { measure, last_value: 12.34, threshold: 45.678 };
    expect(showNumbers('alerts', alert)).toMatchObject({ Measured: measured, 'Fires at': threshold });
  });

  it.each([
    ['datasets', { item_count: 1_009 }, { Items: '1009' }],
    ['knowledge-items', { chunks: 53, content_type: 'text/plain' }, { Passages: '53' }],
    ['workflows', { task_count: 211 }, { Runs: '211' }],
  ])('in the list of %s', (resource, row, cells) => {
    expect(showNumbers(resource, row)).toMatchObject(cells);
  });

  it('in each table of the dashboard that has a column with a number', () => {
    const exported = Object.keys(the).filter((name) => /columns$/i.test(name));
    const own = readFileSync(import.meta.filename, 'utf8');
    expect(exported.filter((name) => !new RegExp(`the\\.${name}\\b`).test(own) && !(name in PARTS))).toEqual([]);
    const private_columns = globSync('**/*.tsx', { cwd: DASHBOARD }).filter((file) =>
      /^(?:const|function) \w+[^\n]*\bColumn<(?!string)/m.test(readFileSync(join(DASHBOARD, file), 'utf8')),
    );
    // These show no number: texts of events, links to runs, the outcome of a due time, and lines that are compared as text.
    expect(private_columns.sort()).toEqual(
      ['datasets/regressions.tsx', 'resources/panels/schedule-panel.tsx', 'runs/compare.tsx', 'runs/log.tsx'].sort(),
    );
  });

  it('in the CSV', () => {
    const [names, values] = toCsv([ROW])
      .split('\n')
      .map((line) => line.split(','));
    const { at: _, ...figures } = ROW;
    const shown = Object.fromEntries(names!.map((name, index) => [name, values![index]]));
    const expected = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value)]));
    expect(shown).toEqual({ ...expected, name: 'Office', at: '' });
  });

  it('in the chart, by measure', () => {
    const bars = Object.fromEntries(
      Object.values(MEASURES).map(({ label, of, show }) => [label, (show as (value: number) => string)(of(ROW)!)]),
    );
    expect(bars).toEqual({ cost: '$61.27', runs: '4,001', 'failed runs': '503', tokens: '121,020' });
  });
});
