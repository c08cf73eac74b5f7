import { readFile } from 'node:fs/promises';

/**
 * Throws if Postgres reported a deadlock. Postgres ends one of the two transactions and the product retries it, so no test
 * notices by itself. Only the server's log shows that two statements lock rows in different orders.
 */
export async function refuseDeadlocks(log_file: string): Promise<void> {
  const log = await readFile(log_file, 'utf8');
  const at = log.indexOf('deadlock detected');
  if (at >= 0) throw new Error(`Postgres reported a deadlock:\n${log.slice(at, at + 2_000)}`);
}
