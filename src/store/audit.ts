import type { AuditEntry, AuditQuery } from '../contracts/audit.ts';
import type { PrismaClient, AuditEntry as Row } from '../generated/prisma/client.ts';
import { type Queryable, rows } from './database.ts';
import { listed, wireAs } from './page.ts';
import { addAudit } from './statements/audit.ts';

/** An entry before it is written; the database gives it its time. */
export type NewAuditEntry = Omit<AuditEntry, 'at'>;

/** Entries can only be added: a trigger refuses everything else, except the removal of old ones. */
export function auditStore({ pool, prisma }: { pool: Queryable; prisma: PrismaClient }) {
  return {
    async add(entries: readonly NewAuditEntry[]): Promise<void> {
      await rows(pool, addAudit({ entries: JSON.stringify(entries) }));
    },
    list: ({ limit, cursor, since, until, resource_id, ...exact }: AuditQuery) =>
      listed(prisma.auditEntry, {
        where: {
          AND: [
            exact,
            since ? { at: { gte: new Date(since) } } : {},
            until ? { at: { lt: new Date(until) } } : {},
            resource_id ? { OR: [{ resource_id }, { made_id: resource_id }] } : {},
          ],
        },
        paging: { limit, cursor },
        shown: entryOfRow,
      }),
  };
}

const entryOfRow = (row: Row): AuditEntry => wireAs<AuditEntry>()(row);

export type AuditStore = ReturnType<typeof auditStore>;
