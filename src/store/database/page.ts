import { unprocessable } from '../../domain/errors.ts';
import { isUuid } from '../../domain/uuid.ts';

export interface RowPage<T> {
  items: T[];
  total: number;
  /** The opaque start of the next page; null on the last page. */
  next: string | null;
}

export interface Paging {
  limit: number;
  cursor?: string | undefined;
}

/** Returns the cursor behind an id. Ids grow with time, so the last id of a page marks the start of the next page. */
export const toCursor = (id: string) => Buffer.from(id, 'utf8').toString('base64url');

export function parseCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const id = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!isUuid(id)) throw badCursor();
  return id;
}

/** Returns a 422 error: the cursor is not from this list. */
export const badCursor = () =>
  unprocessable([{ path: 'cursor', message: 'Not a cursor of this list; use the one in the Link header' }], 'bad_cursor');

interface Cut<T> {
  total: number;
  limit: number;
  /** Returns the cursor behind a row. */
  getCursor(last: T): string;
}

/** Cuts a page from rows that were queried with one more than `limit`. */
export function cutPage<T>(rows: T[], { total, limit, getCursor }: Cut<T>): RowPage<T> {
  const items = rows.slice(0, limit);
  return { items, total, next: rows.length > limit ? getCursor(items.at(-1)!) : null };
}

/** The part of a Prisma model that a list needs. */
interface Listed<Row> {
  findMany(args: object): Promise<Row[]>;
  count(args: object): Promise<number>;
}

interface Listing<Row, T, By extends string> {
  where: object;
  paging: Paging;
  toItem: (row: Row) => T;
  more?: object;
  /** The column with the ids that order the list. */
  by?: By;
}

/** Returns a page of a table's matching rows, newest first, each mapped by `toItem`. */
export async function listPage<Row, T extends { [column in By]: string }, By extends string = 'id'>(
  model: unknown,
  { where, paging: { limit, cursor }, toItem, more, by = 'id' as By }: Listing<Row, T, By>,
): Promise<RowPage<T>> {
  const table = model as Listed<Row>;
  const after = parseCursor(cursor);
  const [rows, total] = await Promise.all([
    table.findMany({
      where: { AND: [where, after ? { [by]: { lt: after } } : {}] },
      orderBy: { [by]: 'desc' },
      take: limit + 1,
      ...more,
    }),
    table.count({ where }),
  ]);
  return cutPage(rows.map(toItem), { total, limit, getCursor: (last) => toCursor(last[by]) });
}

/** Converts rows to the wire format: dates as ISO 8601 in UTC. */
export function wire<T extends object>(row: T): Wire<T> {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key, value instanceof Date ? value.toISOString() : value]),
  ) as Wire<T>;
}
export type Wire<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] extends Date | null ? string | null : T[K] };

/** The wire format of a row, typed by a contract: the database stores enumerations as text and objects as JSON. */
export type WireAs<T, Contract> = { [K in keyof Wire<T>]: K extends keyof Contract ? Contract[K] : Wire<T>[K] };
export const wireAs =
  <Contract>() =>
  <T extends object>(row: T): WireAs<T, Contract> =>
    wire(row) as object as WireAs<T, Contract>;
