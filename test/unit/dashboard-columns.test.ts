import { join } from 'node:path';
import { MantineProvider } from '@mantine/core';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type * as Router from 'react-router';
import { runnerImport } from 'vite';
import { beforeAll, describe, expect, it } from 'vitest';
import type { UsageRow } from '../../src/contracts/usage.ts';
import type * as TaskColumns from '../../src/dashboard/runs/task-columns.tsx';
import type { Column } from '../../src/dashboard/ui/list.tsx';
import type * as UsageColumns from '../../src/dashboard/usage/columns.tsx';
import { toCsv } from '../../src/dashboard/usage/csv.ts';
import { MEASURES } from '../../src/dashboard/usage/measures.ts';

const DASHBOARD = join(import.meta.dirname, '../../src/dashboard');
const MODULE = `
export * from '${DASHBOARD}/usage/columns.tsx';
export * from '${DASHBOARD}/runs/task-columns.tsx';
export { MemoryRouter } from 'react-router';`;

type Loaded = typeof UsageColumns & typeof TaskColumns & Pick<typeof Router, 'MemoryRouter'>;
let the: Loaded;
/** Imports the columns through Vite, because Node does not read JSX; all at once, so that they share one React Router. */
beforeAll(async () => {
  const plugin = {
    name: 'columns',
    resolveId: (id: string) => (id === 'columns' ? id : null),
    load: (id: string) => (id === 'columns' ? MODULE : null),
  };
  the = (await runnerImport<Loaded>('columns', { configFile: false, logLevel: 'silent', plugins: [plugin] })).module;
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

// Every number differs from all others and from their sums.
const CALLS = { calls: 10_007, failed: 1_103, error_rate: 0.1102, p50_ms: 11, p95_ms: 503, p99_ms: 7_919 };
const TOKENS = { total_in: 101_009, total_out: 20_011, cache_read: 3_001, cache_write: 401, premium_requests: 53 };
const ROW: UsageRow = {
  ...{ key: 'k', label: 'Office', at: null, runs: 4_001, completed: 3_301, failed: 503, halted: 197, estimated: 17 },
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
    const model = { name: 'large', ...CALLS, total_in: 101_009, total_out: 20_011, cost: 61.27 };
    expect(readCells(the.modelColumns, model)).toEqual({ Model: 'large', ...CALL_CELLS, Tokens: '121,020', Cost: '$61.27' });
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
    const bars = Object.fromEntries(Object.values(MEASURES).map(({ label, of, show }) => [label, show(of(ROW))]));
    expect(bars).toEqual({ cost: '$61.27', runs: '4,001', 'failed runs': '503', tokens: '121,020' });
  });
});
