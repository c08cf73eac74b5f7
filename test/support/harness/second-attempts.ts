import { asOperator } from '../database/operator.ts';

/** The databases that this process's tests use. */
export const databasesInUse = new Set<string>();

/** Selects the tables of things that people name. */
const NAMED = `SELECT quote_ident(table_name) AS name FROM information_schema.columns
  WHERE table_schema = 'public' AND column_name IN ('name', 'created_at', 'created_by') GROUP BY table_name HAVING count(*) = 3`;

/** Renames the records created since `since`, or by `owners`: the next attempt of a test, or the next file, uses the same names. */
export const freeNames = (url: string, since: Date, owners: readonly string[] = []): Promise<void> =>
  asOperator(url, async (operator) => {
    const { rows } = await operator.query<{ name: string }>(NAMED);
    for (const { name } of rows) {
      const renamed = `UPDATE ${name} SET name = name || '_' || substr(md5(random()::text), 1, 8)`;
      await operator.query(`${renamed} WHERE created_at >= $1 OR created_by = ANY ($2)`, [since, owners]);
    }
  });
