import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { inject } from 'vitest';
import { type Database, openDatabase } from '../../../src/store/database/database.ts';
import { databasesInUse } from '../harness/second-attempts.ts';
import { asOperator } from './operator.ts';

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** Creates a migrated, empty database that is dropped at the end. */
export async function testDatabase(): Promise<TestDatabase> {
  const { url, drop } = await createDatabase('template_perdura');
  for (const file of inject('changed_functions') ?? []) await command(url, await readFile(file, 'utf8'));
  await changeStatement(inject('changed_statement'));
  databasesInUse.add(url);
  return {
    url,
    drop() {
      databasesInUse.delete(url);
      return drop();
    },
  };
}

/** A prepared statement of the store with another text, which stands for what its author might have written. */
export interface ChangedStatement {
  /** From the root of the repository. */
  file: string;
  exported: string;
  text: string;
}

/** The process may be kept for the next change. */
let restoreStatement = () => {};

async function changeStatement(changed: ChangedStatement | null | undefined): Promise<void> {
  restoreStatement();
  restoreStatement = () => {};
  if (!changed) return;
  const { [changed.exported]: statement } = await import(new URL(`../../../${changed.file}`, import.meta.url).href);
  const { text } = statement.prepared;
  restoreStatement = () => (statement.prepared.text = text);
  statement.prepared.text = changed.text;
}

/** Creates the same database before its first migration. */
export const unmigratedDatabase = (): Promise<TestDatabase> => createDatabase('template0');

async function createDatabase(template: string): Promise<TestDatabase> {
  const server = inject('postgres_url');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await command(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, drop: () => command(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}

/** Opens a test database. `close` closes its connections and drops it. */
export async function openTestDatabase(): Promise<Database> {
  const { url, drop } = await testDatabase();
  const database = openDatabase({ url });
  return {
    ...database,
    async close() {
      await database.close();
      await drop();
    },
  };
}

/** Lists the names of its tables, without partitions of others. */
export async function tablesOf({ pool }: Pick<Database, 'pool'>): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      ORDER BY relname COLLATE "C"`,
  );
  return rows.map(({ name }) => name);
}

const command = (url: string, sql: string): Promise<void> =>
  asOperator(url, async (operator) => void (await operator.query(sql)));
