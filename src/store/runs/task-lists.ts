import type pg from 'pg';
import type { TaskSort } from '../../contracts/task-lists.ts';
import { parseSearch, type SearchTerm } from '../../domain/search.ts';
import { isUuid } from '../../domain/uuid.ts';
import { Prisma, type Task as Row } from '../../generated/prisma/client.ts';
import { onlyRow, rows, withCustomPlans } from '../database/database.ts';
import { badCursor, cutPage, type Paging, parseCursor, type RowPage, toCursor } from '../database/page.ts';

export interface TaskFilter {
  owner?: string | undefined;
  status?: string | undefined;
  workflow_id?: string | undefined;
  agent_id?: string | undefined;
  scheduled_agent_id?: string | undefined;
  thread_id?: string | undefined;
  error_code?: string | undefined;
  model?: string | undefined;
  /** The name of a tool that the run called. */
  tool?: string | undefined;
  trigger?: string | undefined;
  definition_hash?: string | undefined;
  /** A version of the workflow. */
  version?: number | undefined;
  since?: string | undefined;
  until?: string | undefined;
  min_cost?: number | undefined;
  max_cost?: number | undefined;
  /** Parts of the prompt, answer, error or id, in the syntax of search engines. */
  q?: string | undefined;
}

export interface TaskListQuery extends TaskFilter, Paging {
  sort?: TaskSort | undefined;
  /** The limit up to which tasks are counted. */
  count_to?: number | undefined;
}

const COLUMNS = Prisma.raw(Object.keys(Prisma.TaskScalarFieldEnum).join(', '));
const BY_TIME = { newest: Prisma.raw('id DESC'), oldest: Prisma.raw('id ASC') } as const;
const LARGEST_FIRST = Prisma.raw('sorted_by DESC, id DESC');

/**
 * The columns that a list can be ordered by, largest first; the id decides between equal ones. The figures of ended tasks are in
 * an index; there are few other tasks.
 */
const FIGURES = {
  cost: { ended: Prisma.raw('final_cost'), open: Prisma.raw('cost') },
  tokens: { ended: Prisma.raw('final_tokens'), open: Prisma.raw('(total_in::float8 + total_out)') },
  duration: { ended: Prisma.raw('final_seconds'), open: Prisma.raw('(-1)::float8') },
} as const;
type Figure = keyof typeof FIGURES;
const isFigure = (sort: TaskSort): sort is Figure => sort in FIGURES;

interface Wanted {
  matching: Prisma.Sql;
  sort: TaskSort;
  cursor: string | undefined;
  /** The number of rows to read: one more than the limit. */
  most: number;
}

/** Returns the matching tasks after the cursor. Counts no more than `count_to`. */
export async function listTasks(pool: pg.Pool, query: TaskListQuery): Promise<RowPage<Row>> {
  const { limit, cursor, sort = 'newest', count_to } = query;
  const matching = Prisma.join(conditions(query), ' AND ');
  const page_request = { matching, sort, cursor, most: limit + 1 };
  const page = isFigure(sort) ? pageByFigure({ ...page_request, sort }) : pageByTime({ ...page_request, sort });
  // Without an order, the count may read the whole table, in which the rows of this owner may come last.
  const bound = count_to === undefined ? Prisma.empty : Prisma.sql`ORDER BY id DESC LIMIT ${count_to}`;
  const order = isFigure(sort) ? LARGEST_FIRST : BY_TIME[sort];
  const [tasks, { total }] = await withCustomPlans(pool, async (on) => [
    await rows<Row & { sorted_by: number | null }>(
      on,
      toQuery(Prisma.sql`
        WITH page AS MATERIALIZED (${page}) SELECT ${COLUMNS}, sorted_by FROM page JOIN tasks USING (id) ORDER BY ${order}`),
    ),
    await onlyRow<{ total: number }>(
      on,
      toQuery(Prisma.sql`
        SELECT count(*)::int AS total FROM (SELECT 1 FROM tasks WHERE ${matching} ${bound}) AS counted`),
    ),
  ]);
  const cut = cutPage(tasks, { total, limit, getCursor: (last) => toTaskCursor(last, sort) });
  return { ...cut, items: cut.items.map(({ sorted_by: _, ...task }) => task) };
}

const toQuery = ({ text, values }: Prisma.Sql): pg.QueryConfig => ({ text, values });

function pageByTime({ matching, sort, cursor, most }: Wanted & { sort: keyof typeof BY_TIME }): Prisma.Sql {
  const id = parseCursor(cursor);
  const beyond = Prisma.raw(sort === 'oldest' ? '>' : '<');
  const rest = id === undefined ? Prisma.sql`true` : Prisma.sql`id ${beyond} ${id}::uuid`;
  return Prisma.sql`
    SELECT id, NULL::float8 AS sorted_by FROM tasks WHERE ${matching} AND ${rest} ORDER BY ${BY_TIME[sort]} LIMIT ${most}`;
}

function pageByFigure({ matching, sort, cursor, most }: Wanted & { sort: Figure }): Prisma.Sql {
  const place = cursor === undefined ? null : parseTaskCursor(cursor, sort);
  const part = (by: Prisma.Sql, condition: string) => {
    const rest = place ? Prisma.sql`(${by}, id) < (${place.value}, ${place.id}::uuid)` : Prisma.sql`true`;
    return Prisma.sql`(SELECT id, ${by} AS sorted_by FROM tasks WHERE ${matching} AND ${Prisma.raw(condition)} AND ${rest}
      ORDER BY ${by} DESC, id DESC LIMIT ${most})`;
  };
  const { ended, open } = FIGURES[sort];
  return Prisma.sql`${part(ended, 'completed_at IS NOT NULL')} UNION ALL ${part(open, 'completed_at IS NULL')}
    ORDER BY ${LARGEST_FIRST} LIMIT ${most}`;
}

interface CountedError {
  error_code: string;
  runs: number;
  last_task_id: string;
  last_error: string | null;
  last_at: Date;
}

/** Returns matching failed tasks grouped by error code, the most frequent first. */
export const errorGroups = (pool: pg.Pool, filter: TaskFilter): Promise<CountedError[]> =>
  withCustomPlans(pool, (on) =>
    rows<CountedError>(
      on,
      toQuery(Prisma.sql`
        WITH groups AS (
          SELECT error_code, count(*)::int AS runs, (array_agg(id ORDER BY id DESC))[1] AS last_task_id, max(completed_at) AS last_at
          FROM tasks WHERE ${Prisma.join(conditions(filter), ' AND ')} AND error_code IS NOT NULL AND completed_at IS NOT NULL
          GROUP BY error_code)
        SELECT groups.*, tasks.error AS last_error FROM groups JOIN tasks ON tasks.id = last_task_id
        ORDER BY runs DESC, groups.error_code`),
    ),
  );

function conditions({ q, since, until, min_cost, max_cost, version, tool, ...same }: TaskFilter): Prisma.Sql[] {
  const { owner, status, error_code, model, trigger, definition_hash, workflow_id, agent_id, scheduled_agent_id, thread_id } =
    same;
  const texts = Object.entries({ owner, status, error_code, model, trigger, definition_hash });
  const ids = Object.entries({ workflow_id, agent_id, scheduled_agent_id, thread_id });
  // Imported turns did not run, and have completed. Other lists need no look at the trigger, which is not in the index of the status.
  const may_be_imported = trigger === undefined && thread_id === undefined && (status ?? 'completed') === 'completed';
  return [
    ...(may_be_imported ? [Prisma.sql`trigger <> 'imported'`] : []),
    ...texts.flatMap(([name, value]) => (value === undefined ? [] : [Prisma.sql`${Prisma.raw(name)} = ${value}`])),
    ...ids.flatMap(([name, value]) => (value === undefined ? [] : [Prisma.sql`${Prisma.raw(name)} = ${value}::uuid`])),
    ...(version === undefined ? [] : [isOfVersion(workflow_id!, version)]),
    ...(tool === undefined ? [] : [calledTool(tool)]),
    ...(since ? [Prisma.sql`created_at >= ${new Date(since)}`] : []),
    ...(until ? [Prisma.sql`created_at < ${new Date(until)}`] : []),
    ...(min_cost === undefined ? [] : [Prisma.sql`cost >= ${min_cost}`]),
    ...(max_cost === undefined ? [] : [Prisma.sql`cost <= ${max_cost}`]),
    ...(q ? toSearchConditions(q) : []),
  ];
}

/** The texts that are searched. The index `tasks_text` has the same expression. */
const TEXTS = `(id::text || ' ' || left(prompt, 50000) || ' ' || left(coalesce(response #>> '{}', ''), 50000) || ' ' ||
  left(coalesce(error, ''), 5000))`;
const INDEXED = Prisma.raw(`search_text(${TEXTS})`);
const LOWER = Prisma.raw(`lower(${TEXTS})`);

function toSearchConditions(q: string): Prisma.Sql[] {
  const alternatives = parseSearch(q).map((terms) => Prisma.sql`(${Prisma.join(terms.map(toTermCondition), ' AND ')})`);
  return alternatives.length === 0 ? [] : [Prisma.sql`(${Prisma.join(alternatives, ' OR ')})`];
}

/**
 * The index has numbers for what is not ASCII, so what it finds is compared with the text itself. An index of three letters in a row
 * cannot find one or two, unless a word begins with them.
 */
function toTermCondition({ text, is_excluded }: SearchTerm): Prisma.Sql {
  const condition = /^[a-z0-9]{1,2}$/i.test(text)
    ? Prisma.sql`(${INDEXED} ~ ('\\m' || lower(${text})) AND ${LOWER} ~ ('\\m' || lower(${text})))`
    : Prisma.sql`(${INDEXED} LIKE '%' || regexp_replace(search_text(${text}), '([\\\\%_])', '\\\\\\1', 'g') || '%'
      AND strpos(${LOWER}, lower(${text})) > 0)`;
  return is_excluded ? Prisma.sql`NOT ${condition}` : condition;
}

const calledTool = (name: string): Prisma.Sql =>
  Prisma.sql`EXISTS (SELECT FROM tool_calls WHERE tool_calls.task_id = tasks.id AND tool_calls.name = ${name})`;

const isOfVersion = (workflow_id: string, version: number): Prisma.Sql =>
  Prisma.sql`definition_hash = (SELECT definition_hash FROM workflow_versions
    WHERE workflow_id = ${workflow_id}::uuid AND number = ${version})`;

interface Place {
  id: string;
  /** The value that the list is ordered by. */
  value: number;
}

const toTaskCursor = ({ id, sorted_by }: { id: string; sorted_by: number | null }, sort: TaskSort) =>
  sorted_by === null ? toCursor(id) : toCursor(`${id} ${sort} ${sorted_by}`);

function parseTaskCursor(cursor: string, sort: Figure): Place {
  const [id = '', of, value = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  if (!isUuid(id) || of !== sort || value === '' || !Number.isFinite(Number(value))) throw badCursor();
  return { id, value: Number(value) };
}
