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

/** Lines are only ever added at the end, so their place is their name. */
export function RunLog({ lines }: { lines: LogLine[] }) {
  if (lines.length === 0) return <Text c="dimmed">Nothing has been logged yet.</Text>;
  return <ColumnTable rows={lines} columns={COLUMNS} label="Log" keyOf={(_, index) => index} verticalSpacing={2} />;
}
