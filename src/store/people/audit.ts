import type pg from 'pg';
import type { AuditEntry, AuditQuery } from '../../contracts/audit.ts';
import type { PrismaClient, AuditEntry as Row } from '../../generated/prisma/client.ts';
import { inTransaction, onlyRow, type Queryable, rows } from '../database/database.ts';
import { listPage, wireAs } from '../database/page.ts';
import { addAudit, takeAuditTurn } from './audit.sql.ts';

/** An entry before it is written. The database sets its time. */
export type NewAuditEntry = Omit<AuditEntry, 'at'>;

/** Stores the audit. Entries can only be added: a trigger refuses everything else, except the removal of old ones. */
export function auditStore({ pool, prisma }: { pool: Queryable; prisma: PrismaClient }) {
  return {
    /** Adds entries. `queued` also adds them to the queue of the webhook. */
    async add(entries: readonly NewAuditEntry[], { queued = false }: { queued?: boolean } = {}): Promise<void> {
      await rows(pool, addAudit({ entries: JSON.stringify(entries), queued }));
    },
    list: ({ limit, cursor, since, until, resource_id, ...exact }: AuditQuery) =>
      listPage(prisma.auditEntry, {
        where: {
          AND: [
            exact,
            since ? { at: { gte: new Date(since) } } : {},
            until ? { at: { lt: new Date(until) } } : {},
            resource_id ? { OR: [{ resource_id }, { made_id: resource_id }] } : {},
          ],
        },
        paging: { limit, cursor },
        toItem: entryOfRow,
      }),
    /**
     * Returns those of the ids whose resources somebody has requested to delete by the operation, as far as the audit goes back. A request
     * that failed may have deleted the record, but not what belongs to it.
     */
    async filterDeleted(operation: string, ids: readonly string[]): Promise<string[]> {
      const where = { operation, resource_id: { in: [...ids] } };
      const entries = await prisma.auditEntry.findMany({ where, select: { resource_id: true } });
      const deleted_ids = new Set(entries.map(({ resource_id }) => resource_id));
      return ids.filter((id) => deleted_ids.has(id));
    },
  };
}

/** Stores the entries that a webhook has not received yet. */
export function auditQueueStore({ pool, prisma }: { pool: pg.Pool; prisma: PrismaClient }) {
  return {
    /**
     * Passes the oldest entries to `send`, at most this many; they leave the queue if it returns true. Returns the number of
     * entries sent; null if another process has the turn, because one process at a time sends.
     */
    sendNext: (most: number, send: (entries: readonly AuditEntry[]) => Promise<boolean>): Promise<number | null> =>
      inTransaction(pool, async (connection) => {
        if (!(await onlyRow<{ taken: boolean }>(connection, takeAuditTurn())).taken) return null;
        const queued = await prisma.auditQueueEntry.findMany({ orderBy: { seq: 'asc' }, take: most });
        if (queued.length === 0) return 0;
        const entry_rows = await prisma.auditEntry.findMany({ where: { id: { in: queued.map(({ entry_id }) => entry_id) } } });
        const entries = queued.flatMap(({ entry_id }) => entry_rows.find(({ id }) => id === entry_id) ?? []).map(entryOfRow);
        if (entries.length > 0 && !(await send(entries))) return 0;
        await prisma.auditQueueEntry.deleteMany({ where: { seq: { in: queued.map(({ seq }) => seq) } } });
        return queued.length;
      }),
  };
}

const entryOfRow = (row: Row): AuditEntry => wireAs<AuditEntry>()(row);

export type AuditQueueStore = ReturnType<typeof auditQueueStore>;
export type AuditStore = ReturnType<typeof auditStore>;
