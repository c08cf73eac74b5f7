import { Text } from '@mantine/core';
import { type Column, ColumnTable } from '../ui/list.tsx';
import { Moment } from '../ui/time.tsx';
import type { LogLine } from './run-state.ts';

const COLUMNS: Column<LogLine>[] = [
  {
    label: 'Time',
    className: 'nowrap',
    show: ({ timestamp }) => <Moment at={timestamp} />,
  },
  { label: 'Event', className: 'mono', show: ({ event }) => event },
  { label: 'Detail', className: 'wrapped', show: ({ detail }) => detail },
];

/** Lines are only appended, so their index is a stable key. */
export function RunLog({ lines }: { lines: LogLine[] }) {
  if (lines.length === 0) return <Text c="dimmed">No log entries yet.</Text>;
  return <ColumnTable rows={lines} columns={COLUMNS} label="Log" toKey={(_, index) => index} verticalSpacing={2} />;
}
