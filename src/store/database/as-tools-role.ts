import { restrictedRole } from '../resources/definitions.sql.ts';
import { onlyRow, type Queryable } from './database.ts';

/**
 * Returns true if this process has the database role of tools workers (../upkeep/tools-role.ts), which may not read instructions,
 * skills or prompts.
 */
export type IsToolsRole = () => Promise<boolean>;

/** Asks the database once, and only in workers that only call tools: a worker of all roles reads everything. */
export function toolsRole(pool: Queryable, only_tools: boolean): IsToolsRole {
  if (!only_tools) return async () => false;
  let answer: Promise<boolean> | undefined;
  const ask = async () => (await onlyRow<{ restricted: boolean }>(pool, restrictedRole())).restricted;
  return () => {
    answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}
