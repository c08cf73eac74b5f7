import { type Queryable, row } from './database.ts';
import { statement } from './statement.ts';

/** Whether this process has the database role of tools workers (./tools-role.ts), which reads no instructions, skills or prompts. */
export type IsToolsRole = () => Promise<boolean>;

const restrictedRole = statement(
  'restricted_role',
  [],
  `SELECT NOT has_column_privilege('definitions', 'body', 'SELECT') AS restricted`,
);

/** Asked once, and only in workers that only call tools: a worker of all roles reads everything. */
export function toolsRole(pool: Queryable, only_tools: boolean): IsToolsRole {
  if (!only_tools) return async () => false;
  let known: Promise<boolean> | undefined;
  const ask = async () => (await row<{ restricted: boolean }>(pool, restrictedRole()))?.restricted ?? false;
  return () => {
    known ??= ask().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}
