import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import type { UsageRow, usage } from '../../contracts/usage.ts';
import type { ApiReply } from '../api/call.ts';
import { costText, count, duration, share } from '../ui/figures.ts';
import type { Column } from '../ui/list.tsx';
import { nameOf } from './measures.ts';

type ToolRow = ApiReply<typeof usage.tools>['rows'][number];
type ModelRow = ApiReply<typeof usage.models>['rows'][number];

/** Groups that have a screen. */
const SCREENS: Record<string, string> = { workflow: 'workflows', agent: 'agents', provider: 'providers' };

export const groupColumns = (by: string): Column<UsageRow>[] => [
  {
    label: by[0]!.toUpperCase() + by.slice(1),
    show: (row) =>
      SCREENS[by] && row.key && row.label !== null ? (
        <Anchor component={Link} to={`/${SCREENS[by]}/${row.key}`} className="clip">
          {nameOf(row)}
        </Anchor>
      ) : (
        nameOf(row)
      ),
  },
  { label: 'Runs', show: ({ runs }) => count(runs) },
  { label: 'Failed', show: ({ failed, runs }) => `${count(failed)} (${share(failed, runs)})` },
  { label: 'Halted', show: ({ halted }) => count(halted) },
  { label: 'Tokens in', show: ({ total_in }) => count(total_in) },
  { label: 'Tokens out', show: ({ total_out }) => count(total_out) },
  { label: 'Cost', show: costText },
];

export const toolColumns: Column<ToolRow>[] = [
  { label: 'Tool', show: ({ name }) => <code>{name}</code> },
  { label: 'Calls', show: ({ calls }) => count(calls) },
  { label: 'Failed', show: ({ failed, calls }) => `${count(failed)} (${share(failed, calls)})` },
  { label: 'p50', show: ({ p50_ms }) => duration(p50_ms) },
  { label: 'p95', show: ({ p95_ms }) => duration(p95_ms) },
  { label: 'p99', show: ({ p99_ms }) => duration(p99_ms) },
];

export const modelColumns: Column<ModelRow>[] = [
  { label: 'Model', show: ({ name }) => name || 'not named' },
  ...(toolColumns.slice(1) as Column<ModelRow>[]),
  { label: 'Tokens', show: ({ total_in, total_out }) => count(total_in + total_out) },
  { label: 'Cost', show: costText },
];
