import type pg from 'pg';
import type { IsToolsRole } from '../database/as-tools-role.ts';
import { onlyRow } from '../database/database.ts';
import * as sql from './quotas.sql.ts';

export const quotaStore = (pool: pg.Pool, isToolsRole: IsToolsRole) => ({
  /** Returns the bytes of text that a principal has stored. */
  async storedBytes(created_by: string): Promise<number> {
    const buildQuery = (await isToolsRole()) ? sql.storedBytesOf : sql.storedBytes;
    return (await onlyRow<{ bytes: number }>(pool, buildQuery({ created_by }))).bytes;
  },
  /** Counts a principal's tasks that have not ended, up to `most`. */
  async openTasks(owner: string, most: number): Promise<number> {
    return (await onlyRow<{ open: number }>(pool, sql.openTasks({ owner, most }))).open;
  },
});

export type QuotaStore = ReturnType<typeof quotaStore>;
