import { Button, Group, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Problem } from '../api/call.ts';
import { ScrollBox } from './scroll-box.tsx';
import { Failure, Loading } from './states.tsx';

export interface Column<T> {
  label: string;
  show(item: T): ReactNode;
}

interface ListQuery<T> {
  items: T[] | undefined;
  total: number;
  error: Problem | null;
  refetch(): unknown;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): unknown;
}

interface ListTableProps<T> {
  query: ListQuery<T>;
  columns: Column<T>[];
  /** For screen readers: what is listed. */
  label: string;
  empty: ReactNode;
}

export function ListTable<T extends { id: string }>({ query, columns, label, empty }: ListTableProps<T>) {
  const { items, error, total } = query;
  if (!items)
    return error ? <Failure problem={error} retry={() => void query.refetch()} /> : <Loading what={`Loading ${label}`} />;
  if (items.length === 0) return empty;
  return (
    <>
      <ScrollBox className="table-scroll" label={label}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              {columns.map((column) => (
                <Table.Th key={column.label}>{column.label}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((item) => (
              <Table.Tr key={item.id}>
                {columns.map((column) => (
                  <Table.Td key={column.label}>{column.show(item)}</Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollBox>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {items.length} of {total}
        </Text>
        {query.hasNextPage && (
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        )}
      </Group>
    </>
  );
}
