import { v7 as uuid } from 'uuid';
import { AppError, conflict, one } from '../../domain/errors.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { listPage, type RowPage, wire } from './page.ts';

/** The part of a Prisma model that a resource needs. */
interface Table {
  findUnique(args: object): Promise<unknown>;
  create(args: object): Promise<unknown>;
  update(args: object): Promise<unknown>;
  delete(args: object): Promise<unknown>;
}

export interface RowFilter {
  limit: number;
  cursor?: string | undefined;
  q?: string | undefined;
  tag?: string | undefined;
  tags?: string | undefined;
}

/**
 * Records that are read and written one at a time. `N` is the type of a new record's values; `U` that of the values that may
 * change.
 */
export interface Records<R, N = object, U = object> {
  find(id: string): Promise<R | null>;
  /** Creates a record. `by` is the principal who saves it; the record is granted the tokens of `by` that it names. */
  create(values: N, by?: string): Promise<R>;
  update(id: string, values: U, by?: string): Promise<R>;
  remove(id: string): Promise<void>;
}

export interface Resource<R> extends Records<R> {
  list(filter: RowFilter, where?: object): Promise<RowPage<R>>;
}

interface ResourceFacts {
  noun: string;
  /** True if the table has a column `tags`. */
  has_tags?: boolean;
  /** The columns that the filter `q` searches. */
  search_columns?: readonly string[];
}

/** Creates the access to a stored resource: a table with a UUIDv7 as `id`. Lists are newest first. */
export function resource<R extends { id: string }>(
  model: unknown,
  { noun, has_tags = true, search_columns = ['name', 'description'] }: ResourceFacts,
): Resource<R> {
  const table = model as Table;
  const toRecord = (row: unknown) => wire(row as object) as R;
  return {
    list: (filter, where = {}) =>
      listPage(table, {
        where: { AND: [where, ...conditions(filter, { tagged: has_tags, searched: search_columns })] },
        paging: filter,
        toItem: toRecord,
      }),
    async find(id) {
      const record = await table.findUnique({ where: { id } });
      return record ? toRecord(record) : null;
    },
    create: async (values) => toRecord(await translateConstraintErrors(noun, table.create({ data: { id: uuid(), ...values } }))),
    update: async (id, values) => toRecord(await translateConstraintErrors(noun, table.update({ where: { id }, data: values }))),
    async remove(id) {
      await translateConstraintErrors(noun, table.delete({ where: { id } }));
    },
  };
}

export function conditions(
  { q, tag, tags }: RowFilter,
  { tagged, searched }: { tagged: boolean; searched: readonly string[] },
): object[] {
  const tag_names = [tag, ...(tags?.split(',') ?? [])].map((name) => name?.trim()).filter(Boolean);
  const text = { contains: q, mode: 'insensitive' };
  return [
    q ? { OR: searched.map((column) => ({ [column]: text })) } : {},
    tagged && tag_names.length > 0 ? { tags: { hasSome: tag_names } } : {},
  ];
}

/** Turns constraint errors of the database into readable ones. */
export async function translateConstraintErrors<T>(noun: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Prisma.PrismaClientKnownRequestError)) throw error;
    if (error.code === 'P2002') throw conflict(`There is already ${one(noun)} with this name; choose another name`, 'name_taken');
    if (error.code === 'P2003') throw conflict(`This ${noun} is in use; remove what refers to it first`, 'in_use');
    if (error.code === 'P2025') throw new AppError('not_found', `There is no such ${noun}`);
    throw error;
  }
}
