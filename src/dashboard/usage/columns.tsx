import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import type { UsageRow, usage } from '../../contracts/usage.ts';
import type { ApiReply } from '../api/call.ts';
import { FailureRate } from '../ui/failure-rate.tsx';
import { countDecimals, formatDuration, formatNumber, formatRunCost } from '../ui/figures.ts';
import type { Column } from '../ui/list.tsx';
import { formatName } from './measures.ts';

type ToolRow = ApiReply<typeof usage.tools>['rows'][number];
type ModelRow = ApiReply<typeof usage.models>['rows'][number];

/** The groups that have a screen. */
const SCREENS: Record<string, string> = { workflow: 'workflows', agent: 'agents', provider: 'providers' };

/** Returns a column of numbers. */
const count = <T,>(label: string, of: (row: T) => number) => ({
  label,
  figure: true,
  show: (row: T) => formatNumber(of(row)),
});

const costColumn = { label: 'Cost', figure: true, decimals: countDecimals, show: formatRunCost };

export const groupColumns = (by: string): Column<UsageRow>[] => [
  {
    label: by[0]!.toUpperCase() + by.slice(1),
    className: 'filling',
    card: 'title',
    show: (row) =>
      SCREENS[by] && row.key && row.label !== null ? (
        <Anchor component={Link} to={`/${SCREENS[by]}/${row.key}`} className="clip" dir="auto">
          {formatName(row)}
        </Anchor>
      ) : (
        <span className="clip" dir="auto">
          {formatName(row)}
        </span>
      ),
  },
  count('Runs', ({ runs }) => runs),
  { label: 'Failed', figure: true, show: ({ failed, runs }) => <FailureRate failed={failed} of={runs} /> },
  count('Halted', ({ halted }) => halted),
  count('Tokens in', ({ total_in }) => total_in),
  count('Tokens out', ({ total_out }) => total_out),
  costColumn,
];

/** Leads to the runs that called a tool or a model. */
const RunsOf = ({ filter, name }: { filter: 'tool' | 'model'; name: string }) => (
  <Anchor component={Link} to={`/tasks?${new URLSearchParams({ [filter]: name })}`} className="clip" title="Show its runs">
    {filter === 'tool' ? <code>{name}</code> : name}
  </Anchor>
);

export const toolColumns: Column<ToolRow>[] = [
  { label: 'Tool', className: 'filling', card: 'title', show: ({ name }) => <RunsOf filter="tool" name={name} /> },
  count('Calls', ({ calls }) => calls),
  { label: 'Failed', figure: true, show: ({ failed, calls }) => <FailureRate failed={failed} of={calls} /> },
  { label: 'p50', figure: true, show: ({ p50_ms }) => formatDuration(p50_ms) },
  { label: 'p95', figure: true, show: ({ p95_ms }) => formatDuration(p95_ms) },
  { label: 'p99', figure: true, show: ({ p99_ms }) => formatDuration(p99_ms) },
];

export const modelColumns: Column<ModelRow>[] = [
  {
    label: 'Model',
    className: 'filling',
    card: 'title',
    show: ({ name }) => (name ? <RunsOf filter="model" name={name} /> : 'not named'),
  },
  ...(toolColumns.slice(1) as Column<ModelRow>[]),
  count('Tokens', ({ total_in, total_out }) => total_in + total_out),
  costColumn,
];
