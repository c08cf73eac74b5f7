import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import type { UsageRow, usage } from '../../contracts/usage.ts';
import type { ApiReply } from '../api/call.ts';
import { formatCost, formatDuration, formatNumber, formatShare } from '../ui/figures.ts';
import type { Column } from '../ui/list.tsx';
import { formatName } from './measures.ts';

type ToolRow = ApiReply<typeof usage.tools>['rows'][number];
type ModelRow = ApiReply<typeof usage.models>['rows'][number];

/** The groups that have a screen. */
const SCREENS: Record<string, string> = { workflow: 'workflows', agent: 'agents', provider: 'providers' };

export const groupColumns = (by: string): Column<UsageRow>[] => [
  {
    label: by[0]!.toUpperCase() + by.slice(1),
    show: (row) =>
      SCREENS[by] && row.key && row.label !== null ? (
        <Anchor component={Link} to={`/${SCREENS[by]}/${row.key}`} className="clip">
          {formatName(row)}
        </Anchor>
      ) : (
        formatName(row)
      ),
  },
  { label: 'Runs', show: ({ runs }) => formatNumber(runs) },
  { label: 'Failed', show: ({ failed, runs }) => `${formatNumber(failed)} (${formatShare(failed, runs)})` },
  { label: 'Halted', show: ({ halted }) => formatNumber(halted) },
  { label: 'Tokens in', show: ({ total_in }) => formatNumber(total_in) },
  { label: 'Tokens out', show: ({ total_out }) => formatNumber(total_out) },
  { label: 'Cost', show: formatCost },
];

export const toolColumns: Column<ToolRow>[] = [
  { label: 'Tool', show: ({ name }) => <code>{name}</code> },
  { label: 'Calls', show: ({ calls }) => formatNumber(calls) },
  { label: 'Failed', show: ({ failed, calls }) => `${formatNumber(failed)} (${formatShare(failed, calls)})` },
  { label: 'p50', show: ({ p50_ms }) => formatDuration(p50_ms) },
  { label: 'p95', show: ({ p95_ms }) => formatDuration(p95_ms) },
  { label: 'p99', show: ({ p99_ms }) => formatDuration(p99_ms) },
];

export const modelColumns: Column<ModelRow>[] = [
  { label: 'Model', show: ({ name }) => name || 'not named' },
  ...(toolColumns.slice(1) as Column<ModelRow>[]),
  { label: 'Tokens', show: ({ total_in, total_out }) => formatNumber(total_in + total_out) },
  { label: 'Cost', show: formatCost },
];
