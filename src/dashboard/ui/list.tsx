import { Button, Group, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ApiProblem } from '../api/call.ts';
import { formatNumber } from './figures.ts';
import { ScrollBox } from './scroll-box.tsx';
import { Failure, Loading } from './states.tsx';

export interface Column<T> {
  label: string;
  className?: string;
  /** True if only screen readers get the label. */
  is_obvious?: boolean;
  /** True for numbers, which stand under each other at the right. */
  figure?: boolean;
  /** The place on the card that a row is on a phone; without it, a line with the label. */
  card?: 'corner' | 'lead' | 'aside' | 'title' | 'line' | 'foot';
  /** Counts the digits after the point of a number. Each number of the column then gets as many as the one with the most. */
  decimals?(item: T): number;
  show(item: T, decimals?: number): ReactNode;
}

interface ListQuery<T> {
  items: T[] | undefined;
  total: number;
  /** True if the total counts everything; otherwise there may be more. */
  is_counted: boolean;
  error: ApiProblem | null;
  refetch(): unknown;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): unknown;
}

interface ListTableProps<T> {
  query: ListQuery<T>;
  columns: Column<T>[];
  /** The name of the list, for screen readers. */
  label: string;
  empty: ReactNode;
}

export function ListTable<T extends { id: string }>({ query, columns, label, empty }: ListTableProps<T>) {
  return (
    <Listed query={query} label={label} empty={empty}>
      {(items) => <ColumnTable rows={items} columns={columns} label={label} toKey={({ id }) => id} />}
    </Listed>
  );
}

interface ListedProps<T> extends Pick<ListTableProps<T>, 'query' | 'label' | 'empty'> {
  children(items: T[]): ReactNode;
}

/** Shows the pages that a query has read so far, and a button for more. */
export function Listed<T>({ query, label, empty, children }: ListedProps<T>) {
  const { items, error, total, is_counted } = query;
  if (!items)
    return error ? <Failure problem={error} retry={() => void query.refetch()} /> : <Loading what={`Loading ${label}`} />;
  if (items.length === 0) return empty;
  return (
    <>
      {children(items)}
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {formatNumber(items.length)} of {formatNumber(total)}
          {!is_counted && '+'}
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

const toClass = ({ className = '', figure = false }: { className?: string; figure?: boolean }) =>
  figure ? `figure ${className}` : className;

interface ColumnTableProps<T> {
  rows: readonly T[];
  columns: Column<T>[];
  /** The name of the rows, for screen readers. */
  label: string;
  toKey(row: T, index: number): string | number;
  verticalSpacing?: number;
}

/**
 * A table that scrolls sideways if it is too wide. Its roles are explicit, because CSS that turns rows into cards removes the
 * implied ones.
 */
export function ColumnTable<T>({ rows, columns, label, toKey: keyOf, verticalSpacing = 6 }: ColumnTableProps<T>) {
  const decimals = columns.map((column) => column.decimals && Math.max(0, ...rows.map(column.decimals)));
  return (
    <ScrollBox className="table-scroll" label={label}>
      <Table verticalSpacing={verticalSpacing} horizontalSpacing={6} role="table" className="stacks">
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {columns.map((column) => (
              <Table.Th key={column.label} role="columnheader" className={toClass(column)}>
                <span className={column.is_obvious ? 'visually-hidden' : ''}>{column.label}</span>
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {rows.map((row, index) => (
            <Table.Tr key={keyOf(row, index)} role="row">
              {columns.map((column, at) => (
                <Table.Td
                  key={column.label}
                  role="cell"
                  data-label={column.label}
                  data-card={column.card}
                  className={toClass(column)}
                >
                  {column.show(row, decimals[at])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollBox>
  );
}
