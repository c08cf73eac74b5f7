import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/** Makes the database refuse some updates of a table as on a full disk, until `end`. `refused` returns how many so far. */
export async function fullFor(pool: pg.Pool, table: string, condition: string) {
  const name = `full_${randomUUID().replaceAll('-', '')}`;
  // A sequence keeps its number when the transaction is rolled back.
  await pool.query(`CREATE SEQUENCE ${name};
    CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM nextval('${name}');
      RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100';
    END $$;
    CREATE TRIGGER ${name} BEFORE UPDATE ON ${table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION ${name}()`);
  return {
    async refused(): Promise<number> {
      const { rows } = await pool.query(`SELECT CASE WHEN is_called THEN last_value ELSE 0 END::int AS refused FROM ${name}`);
      return rows[0].refused;
    },
    async end(): Promise<void> {
      await pool.query(`DROP TRIGGER ${name} ON ${table}; DROP FUNCTION ${name}(); DROP SEQUENCE ${name}`);
    },
  };
}
