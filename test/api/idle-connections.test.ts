import { expect, it } from 'vitest';
import { openTestDatabase } from '../support/database/database.ts';

it('a connection that the server ends while it is idle is replaced', async () => {
  const { pool, close } = await openTestDatabase();
  const [idle, other] = [await pool.connect(), await pool.connect()];
  const { rows } = await idle.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  idle.release();
  const removed = new Promise((resolve) => pool.once('remove', resolve));
  await other.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
  await removed;
  other.release();
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await close();
});
