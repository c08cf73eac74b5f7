import type { TestInstallation } from '../installation.ts';

/** Returns the total cost of a task's steps, which must equal the task's own. */
export async function spentOnSteps({ core }: TestInstallation, task_id: string): Promise<Record<string, number>> {
  const { rows } = await core.database.pool.query(
    `SELECT sum(total_in)::int AS total_in, sum(total_out)::int AS total_out, sum(cache_read)::int AS cache_read,
       sum(cache_write)::int AS cache_write, sum(cost) AS cost FROM task_steps WHERE task_id = $1`,
    [task_id],
  );
  return rows[0];
}
