import type pg from 'pg';

/** The tables of a workflow's record, in the order in which their rows can be inserted. */
const TABLES: [table: string, rows: string][] = [
  ['workflows', 'id = $1'],
  ['tasks', 'workflow_id = $1'],
  ['task_steps', 'task_id IN (SELECT id FROM tasks WHERE workflow_id = $1)'],
  ['task_messages', 'task_id IN (SELECT id FROM tasks WHERE workflow_id = $1)'],
  ['tool_calls', 'task_id IN (SELECT id FROM tasks WHERE workflow_id = $1)'],
  ['event_sequences', 'workflow_id = $1'],
  ['events', 'workflow_id = $1'],
];

type Row = Record<string, unknown>;

export interface RecordCopy {
  rows: Map<string, Row[]>;
  /** Resets the workflow's record to this copy, in one transaction, like a restore of the database. */
  restore(): Promise<void>;
}

/** Copies the record of a workflow in its current state. */
export async function recordCopy(pool: pg.Pool, workflow_id: string): Promise<RecordCopy> {
  const rows = new Map<string, Row[]>();
  await transaction(pool, 'REPEATABLE READ', async (on) => {
    for (const [table, which] of TABLES) {
      const found = await on.query(`SELECT to_jsonb(t) AS row FROM ${table} t WHERE ${which}`, [workflow_id]);
      rows.set(
        table,
        found.rows.map(({ row }) => row as Row),
      );
    }
  });
  const restore = () =>
    transaction(pool, 'READ COMMITTED', async (on) => {
      await on.query('DELETE FROM workflows WHERE id = $1', [workflow_id]);
      await on.query('DELETE FROM events WHERE workflow_id = $1', [workflow_id]);
      for (const [table] of TABLES) {
        const columns = await storedColumns(on, table);
        const text = `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1)`;
        await on.query(text, [JSON.stringify(rows.get(table))]);
      }
    });
  return { rows, restore };
}

/** Lists the columns of a table, without those that the database generates. */
async function storedColumns(on: pg.PoolClient, table: string): Promise<string> {
  const { rows } = await on.query<{ name: string }>(
    `SELECT quote_ident(column_name) AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`,
    [table],
  );
  return rows.map(({ name }) => name).join(', ');
}

async function transaction(
  pool: pg.Pool,
  level: 'READ COMMITTED' | 'REPEATABLE READ',
  work: (on: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const on = await pool.connect();
  try {
    await on.query(`BEGIN ISOLATION LEVEL ${level}`);
    await work(on);
    await on.query('COMMIT');
  } catch (error) {
    await on.query('ROLLBACK');
    throw error;
  } finally {
    on.release();
  }
}
