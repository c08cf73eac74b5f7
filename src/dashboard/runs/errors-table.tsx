import { Anchor, Button, Text } from '@mantine/core';
import { Link } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import type { ApiReply } from '../api/call.ts';
import { useRead } from '../api/queries.ts';
import { formatNumber } from '../ui/figures.ts';
import { type Column, ColumnTable } from '../ui/list.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';

type ErrorRow = ApiReply<typeof tasks.errors>[number];

/** Counts the runs of a list by error; each row links to its runs. */
export function ErrorsTable({ query, choose }: { query: object; choose(error_code: string): void }) {
  const groups = useRead(tasks.errors, { query });
  return (
    <Loaded query={groups} what="Loading errors">
      {(rows) =>
        rows.length === 0 ? (
          <Empty>No run with these filters has an error.</Empty>
        ) : (
          <ColumnTable rows={rows} columns={errorColumns(choose)} label="Errors" toKey={({ error_code }) => error_code} />
        )
      }
    </Loaded>
  );
}

export const errorColumns = (choose: (error_code: string) => void): Column<ErrorRow>[] => [
  {
    label: 'Error',
    show: ({ error_code }) => (
      <Button variant="default" size="compact-xs" onClick={() => choose(error_code)}>
        {error_code}
      </Button>
    ),
  },
  { label: 'Runs', show: ({ runs }) => formatNumber(runs) },
  { label: 'Last', show: ({ last_at }) => <When at={last_at} relative /> },
  {
    label: 'Last error',
    className: 'wrapped',
    show: ({ last_task_id, last_error }) => (
      <Anchor component={Link} to={`/tasks/${last_task_id}`}>
        <Text lineClamp={2}>{last_error ?? 'open the run'}</Text>
      </Anchor>
    ),
  },
];
