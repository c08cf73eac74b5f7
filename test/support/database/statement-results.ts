import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { CROWDED, idOf, PREFIXES, writeCrowd } from './crowd.ts';
import { allStatements } from './statements.ts';

const FUNCTIONS = join(import.meta.dirname, '../../../prisma/functions');

/** A statement or a database function, with the names of its parameters. */
export interface Query {
  name: string;
  text: string;
  parameters: string[];
  types: string[];
  /** What it may change. */
  writes: string[];
}

/** What a query answers for some values among the rows of `crowd.ts`, and which rows it changes. */
export interface Result {
  statement: string;
  given: Record<string, unknown>;
  /** A change of the rows that was made before. */
  after?: string;
  /** Or the code of the refusal. */
  rows: unknown[] | string;
  changed: string[];
}

/** The place where queries are tried, one after the other, each on the same rows at the same moment. */
export interface Trial {
  queries: Query[];
  client: pg.Client;
  /** The rows of a table, with names for times and ids; none for a table outside the crowd. */
  rows(table: string): Record<string, unknown>[];
  try(query: Pick<Query, 'name' | 'text' | 'parameters' | 'writes'>, of: Pick<Result, 'given' | 'after'>): Promise<Result>;
  close(): Promise<void>;
}

export async function openTrial(url: string): Promise<Trial> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await stopClocks(client);
  // A change may make a recursion endless. The audit lets retention delete.
  await client.query(`SET LOCAL TIME ZONE 'UTC'; SET LOCAL statement_timeout = '3s'; SET LOCAL perdura.audit_retention = 'on'`);
  await writeCrowd(client);
  const symbols = symbolsOf(BigInt(Date.parse(MOMENT)) * 1_000n);
  const before = await readTables(client, CROWDED);
  const keys = await readKeys(client);
  const queries = await listQueries(client);
  return {
    queries,
    client,
    rows: (table) => (before.get(table) ?? []).map((row) => symbols.name(JSON.parse(row)) as Record<string, unknown>),
    async try({ name, text, parameters, writes }, { given, after }) {
      const asked = { statement: name, ...(after === undefined ? {} : { after }), given };
      const values = parameters.map((parameter) => symbols.resolve(given[parameter] ?? null));
      await client.query(
        `SAVEPOINT tried; SELECT setval(pg_get_serial_sequence('audit_queue', 'seq'), 900), setval(pg_get_serial_sequence('workspace_layers', 'number'), 900)`,
      );
      try {
        if (after) await client.query(symbols.resolve(after) as string);
        const old = after ? await readTables(client, writes) : before;
        const { rows } = await client.query({ text, values });
        // Another plan may return them in another order.
        if (!/ORDER BY(?! random)/.test(text)) rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
        const now = await readTables(client, writes);
        const changed = [...now].flatMap(([table, lines]) => compare(table, keys.get(table)!, old.get(table)!, lines));
        return { ...asked, rows: symbols.name(rows) as unknown[], changed: symbols.name(changed) as string[] };
      } catch (error) {
        return { ...asked, rows: String((error as pg.DatabaseError).code ?? error), changed: [] };
      } finally {
        await client.query('ROLLBACK TO SAVEPOINT tried; RELEASE SAVEPOINT tried');
      }
    },
    async close() {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}

/**
 * Stops the clocks, so that results depend neither on the hour nor on how long the trial takes. Within a transaction `now()` stands
 * still anyhow; `clock_timestamp()` is some seconds later, so that one is not taken for the other.
 */
async function stopClocks(client: pg.Client): Promise<void> {
  await client.query(`
    CREATE SCHEMA stopped;
    CREATE FUNCTION stopped.now() RETURNS timestamptz STABLE LANGUAGE sql RETURN '${MOMENT}'::timestamptz;
    CREATE FUNCTION stopped.clock_timestamp() RETURNS timestamptz LANGUAGE sql RETURN '${MOMENT}'::timestamptz + interval '7 seconds';
    SET LOCAL search_path = public, stopped, pg_catalog`);
  const { rows } = await client.query<{ place: string }>(
    `SELECT format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT now()', table_name, column_name) AS place
      FROM information_schema.columns WHERE table_schema = 'public' AND column_default = 'CURRENT_TIMESTAMP'`,
  );
  await client.query(rows.map(({ place }) => place).join(';'));
}

/** Five minutes after an hour: the limits of the statements, ten minutes and an hour ago, lie in another one. */
const MOMENT = '2026-03-05T10:05:00Z';

/** Times, as seconds from the moment, and ids of rows have names, so that results are the same in every run and can be read. */
function symbolsOf(now: bigint) {
  const iso = (micros: bigint) =>
    `${new Date(Number(micros / 1_000n)).toISOString().slice(0, -1)}${String(micros % 1_000n).padStart(3, '0')}+00:00`;
  const resolveText = (text: string) =>
    text
      .replaceAll(/@now([+-][\d.]+)/g, (_, seconds) => iso(now + BigInt(Math.round(Number(seconds) * 1e6))))
      .replaceAll(/@([a-z_]+)-(\d+)/g, (whole, table, row) =>
        [...PREFIXES.values()].includes(table) ? idOf(table, Number(row)) : whole,
      );
  const nameText = (text: string) =>
    text
      .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00(?::?00)?)/g, (time) => {
        const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
        const micros =
          BigInt(Date.parse(time.replace(/\.\d+/, '').replace(/\+00$/, '+00:00'))) * 1_000n +
          BigInt(fraction.padEnd(6, '0').slice(0, 6));
        const seconds = Number(micros - now) / 1e6;
        return Math.abs(seconds) > 1e8 ? time : `@now${seconds < 0 ? '' : '+'}${seconds}`;
      })
      .replaceAll(/([0-9a-f]{8})-0000-7000-8000-(\d{12})/g, (whole, prefix, row) =>
        PREFIXES.has(prefix) ? `@${PREFIXES.get(prefix)}-${Number(row)}` : whole,
      )
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, '@random');
  const map = (value: unknown, change: (text: string) => string): unknown => {
    if (typeof value === 'string') return change(value);
    if (value instanceof Date || Buffer.isBuffer(value)) return value;
    if (Array.isArray(value)) return value.map((item) => map(item, change));
    if (value && typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, map(item, change)]));
    return value;
  };
  return {
    resolve: (value: unknown) => map(value, resolveText),
    name: (value: unknown) => map(JSON.parse(JSON.stringify(value)), nameText),
  };
}

async function readTables(client: pg.Client, tables: readonly string[]): Promise<Map<string, string[]>> {
  if (tables.length === 0) return new Map();
  const parts = tables.map((table) => `SELECT '${table}' AS t, to_jsonb(x)::text AS r FROM ${table} x`);
  const { rows } = await client.query<{ t: string; r: string }>(parts.join(' UNION ALL '));
  const found = new Map<string, string[]>(tables.map((table) => [table, []]));
  for (const { t, r } of rows) found.get(t)!.push(r);
  return found;
}

/** One line for each row that is gone or has come. */
function compare(table: string, key: readonly string[], before: readonly string[], after: readonly string[]): string[] {
  const [old, now] = [new Set(before), new Set(after)];
  const gone = before.filter((row) => !now.has(row)).map((row) => ({ row, parsed: JSON.parse(row) as Record<string, unknown> }));
  const come = after.filter((row) => !old.has(row)).map((row) => ({ row, parsed: JSON.parse(row) as Record<string, unknown> }));
  const keyOf = (row: Record<string, unknown>) => JSON.stringify(key.map((column) => row[column]));
  const lines: string[] = [];
  for (const { parsed } of come) {
    const at = gone.findIndex((candidate) => keyOf(candidate.parsed) === keyOf(parsed));
    const was = at < 0 ? null : gone.splice(at, 1)[0]!.parsed;
    const shown = was
      ? Object.fromEntries(Object.entries(parsed).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(was[key])))
      : parsed;
    lines.push(`${was ? '~' : '+'} ${table} ${was ? `${keyOf(parsed)} ` : ''}${JSON.stringify(shown)}`);
  }
  return [...lines, ...gone.map(({ parsed }) => `- ${table} ${keyOf(parsed)}`)].sort();
}

/** The columns that identify the rows of each table. The table of events has no key: each of its partitions has one. */
async function readKeys(client: pg.Client): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `SELECT table_name AS table, array_agg(column_name::text ORDER BY ordinal_position) AS columns
      FROM information_schema.key_column_usage JOIN information_schema.table_constraints USING (constraint_name, table_name, table_schema)
      WHERE constraint_type = 'PRIMARY KEY' AND table_schema = 'public' GROUP BY table_name`,
  );
  return new Map([...rows.map(({ table, columns }): [string, string[]] => [table, columns]), ['events', ['workflow_id', 'seq']]]);
}

async function listQueries(client: pg.Client): Promise<Query[]> {
  const bodies = new Map(readdirSync(FUNCTIONS).map((file) => [file.slice(0, -4), readFileSync(join(FUNCTIONS, file), 'utf8')]));
  const reach = (text: string, seen = new Set<string>()): string => {
    let all = text;
    for (const [name, body] of bodies)
      if (!seen.has(name) && new RegExp(`\\b${name}\\(`).test(text)) {
        seen.add(name);
        all += ` ${reach(body, seen)}`;
      }
    return all;
  };
  const queries: Query[] = [];
  for (const { name, text, parameters } of await allStatements()) {
    const prepared = await prepare(client, text);
    if (!prepared) continue;
    const reached = reach(text);
    // What refers to a deleted row goes with it, and triggers count it.
    const writes = /\bDELETE FROM\b/.test(reached)
      ? CROWDED
      : /\b(?:INSERT INTO|UPDATE)\b/.test(reached)
        ? CROWDED.filter((table) => new RegExp(`\\b${table}\\b`).test(reached))
        : [];
    queries.push({ name, text, parameters: [...parameters], types: prepared, writes });
  }
  return queries;
}

export async function prepare(client: pg.Client, text: string): Promise<string[] | null> {
  await client.query('SAVEPOINT prepared');
  try {
    await client.query(`PREPARE listed AS ${text}`);
    const { rows } = await client.query<{ types: string[] }>(
      `SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'listed'`,
    );
    await client.query('DEALLOCATE listed');
    return rows[0]!.types;
  } catch {
    return null;
  } finally {
    await client.query('ROLLBACK TO SAVEPOINT prepared; RELEASE SAVEPOINT prepared');
  }
}
