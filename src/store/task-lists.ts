import type { TaskSort } from '../contracts/task-lists.ts';
import { isUuid } from '../domain/uuid.ts';
import { Prisma, type PrismaClient, type Task as Row } from '../generated/prisma/client.ts';
import { badCursor, cursorOf, idOfCursor, type Paging, pageOf, type RowPage } from './page.ts';

export interface TaskFilter {
  owner?: string | undefined;
  status?: string | undefined;
  workflow_id?: string | undefined;
  agent_id?: string | undefined;
  scheduled_agent_id?: string | undefined;
  error_code?: string | undefined;
  model?: string | undefined;
  trigger?: string | undefined;
  definition_hash?: string | undefined;
  /** A version of the workflow. */
  version?: number | undefined;
  since?: string | undefined;
  until?: string | undefined;
  min_cost?: number | undefined;
  max_cost?: number | undefined;
  /** Words of the prompt, answer or error, in the syntax of search engines. */
  q?: string | undefined;
}

export interface TaskListQuery extends TaskFilter, Paging {
  sort?: TaskSort | undefined;
}

/** Without the words, which nobody reads. */
const COLUMNS = Prisma.raw(Object.keys(Prisma.TaskScalarFieldEnum).join(', '));

/** What a list is ordered by, largest first; the id decides between equal ones. */
const SORTS = {
  newest: null,
  oldest: null,
  cost: Prisma.raw('cost'),
  tokens: Prisma.raw('(total_in + total_out)::float8'),
  duration: Prisma.raw('coalesce(extract(epoch FROM completed_at - started_at), -1)::float8'),
} as const;

/** Tasks that match, without those before the cursor, one more than the limit. */
export async function listTasks(prisma: PrismaClient, query: TaskListQuery): Promise<RowPage<Row>> {
  const { limit, cursor, sort = 'newest' } = query;
  const matching = Prisma.join(conditions(query), ' AND ');
  const by = SORTS[sort];
  const place = cursor === undefined ? null : placeOf(cursor, sort);
  const order = Prisma.raw(sort === 'oldest' ? 'id ASC' : 'id DESC');
  const rest = place ? restAfter(place, { sort, by }) : Prisma.sql`true`;
  const [rows, [counted]] = await Promise.all([
    prisma.$queryRaw<(Row & { sorted_by: number | null })[]>`
      SELECT ${COLUMNS}, ${by ?? Prisma.raw('NULL::float8')} AS sorted_by FROM tasks WHERE ${matching} AND ${rest}
      ORDER BY ${by ? Prisma.sql`${by} DESC, ` : Prisma.empty}${order} LIMIT ${limit + 1}`,
    prisma.$queryRaw<{ total: number }[]>`SELECT count(*)::int AS total FROM tasks WHERE ${matching}`,
  ]);
  const page = pageOf(rows, { total: counted?.total ?? 0, limit, cursorAt: (last) => cursorAt(last, sort) });
  return { ...page, items: page.items.map(({ sorted_by: _, ...row }) => row) };
}

interface CountedError {
  error_code: string;
  runs: number;
  last_task_id: string;
  last_error: string | null;
  last_at: Date;
}

/** Failed tasks that match, by their error code, the most frequent first. */
export const errorGroups = (prisma: PrismaClient, filter: TaskFilter): Promise<CountedError[]> =>
  prisma.$queryRaw<CountedError[]>`
    SELECT error_code, count(*)::int AS runs, (array_agg(id ORDER BY id DESC))[1] AS last_task_id,
      (array_agg(error ORDER BY id DESC))[1] AS last_error, max(completed_at) AS last_at
    FROM tasks WHERE ${Prisma.join(conditions(filter), ' AND ')} AND error_code IS NOT NULL AND completed_at IS NOT NULL
    GROUP BY error_code ORDER BY runs DESC, error_code`;

function conditions({ q, since, until, min_cost, max_cost, version, ...same }: TaskFilter): Prisma.Sql[] {
  const { owner, status, error_code, model, trigger, definition_hash, workflow_id, agent_id, scheduled_agent_id } = same;
  const texts = Object.entries({ owner, status, error_code, model, trigger, definition_hash });
  const ids = Object.entries({ workflow_id, agent_id, scheduled_agent_id });
  const found = [
    ...texts.flatMap(([name, value]) => (value === undefined ? [] : [Prisma.sql`${Prisma.raw(name)} = ${value}`])),
    ...ids.flatMap(([name, value]) => (value === undefined ? [] : [Prisma.sql`${Prisma.raw(name)} = ${value}::uuid`])),
    ...(version === undefined ? [] : [isOfVersion(workflow_id, version)]),
    ...(since ? [Prisma.sql`created_at >= ${new Date(since)}`] : []),
    ...(until ? [Prisma.sql`created_at < ${new Date(until)}`] : []),
    ...(min_cost === undefined ? [] : [Prisma.sql`cost >= ${min_cost}`]),
    ...(max_cost === undefined ? [] : [Prisma.sql`cost <= ${max_cost}`]),
    ...(q ? [Prisma.sql`words @@ websearch_to_tsquery('simple', ${q})`] : []),
  ];
  return found.length > 0 ? found : [Prisma.sql`true`];
}

const isOfVersion = (workflow_id: string | undefined, version: number): Prisma.Sql =>
  Prisma.sql`definition_hash = (SELECT definition_hash FROM workflow_versions
    WHERE workflow_id = ${workflow_id ?? null}::uuid AND number = ${version})`;

interface Place {
  id: string;
  /** The value of the sort order; null in the order of time. */
  value: number | null;
}

function restAfter({ id, value }: Place, { sort, by }: { sort: TaskSort; by: Prisma.Sql | null }): Prisma.Sql {
  if (by) return Prisma.sql`(${by}, id) < (${value}, ${id}::uuid)`;
  return sort === 'oldest' ? Prisma.sql`id > ${id}::uuid` : Prisma.sql`id < ${id}::uuid`;
}

const cursorAt = ({ id, sorted_by }: { id: string; sorted_by: number | null }, sort: TaskSort) =>
  sorted_by === null ? cursorOf(id) : cursorOf(`${id} ${sort} ${sorted_by}`);

function placeOf(cursor: string, sort: TaskSort): Place {
  if (SORTS[sort] === null) return { id: idOfCursor(cursor)!, value: null };
  const [id = '', of, value = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  if (!isUuid(id) || of !== sort || value === '' || !Number.isFinite(Number(value))) throw badCursor();
  return { id, value: Number(value) };
}
