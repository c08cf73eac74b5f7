import type pg from 'pg';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { row, rows } from './database.ts';
import { wire } from './page.ts';

interface PendingDelivery {
  id: string;
  url: string;
  payload: unknown;
  status: string;
  /** Whose secret it is signed with. */
  owner: string;
}

interface AttemptRecord {
  response_status: number | null;
  error: string | null;
  delivered: boolean;
}

const NOTE = {
  name: 'note_webhook_attempt',
  text: `WITH attempt AS (
      INSERT INTO webhook_attempts (delivery_id, attempt, response_status, error)
      SELECT $1, coalesce(max(attempt), 0) + 1, $2, $3 FROM webhook_attempts WHERE delivery_id = $1 RETURNING 1)
    UPDATE webhook_deliveries SET status = CASE WHEN $4 THEN 'delivered' ELSE status END,
      delivered_at = CASE WHEN $4 THEN now() ELSE delivered_at END WHERE id = $1 RETURNING status`,
};

const GIVE_UP = {
  name: 'give_up_webhook',
  text: "UPDATE webhook_deliveries SET status = 'failed' WHERE id = $1 AND status = 'pending'",
};

const PENDING = {
  name: 'pending_webhooks',
  text: "SELECT id FROM webhook_deliveries WHERE status = 'pending' ORDER BY id LIMIT 1000",
};

export type WebhookStore = ReturnType<typeof webhookStore>;

export function webhookStore({ pool, prisma }: { pool: pg.Pool; prisma: PrismaClient }) {
  const withAttempts = { attempts: { orderBy: { attempt: 'asc' } } } as const;
  return {
    async open(id: string): Promise<PendingDelivery | null> {
      const select = { id: true, url: true, payload: true, status: true, task: { select: { owner: true } } };
      const found = await prisma.webhookDelivery.findUnique({ where: { id }, select });
      if (!found) return null;
      const { task, ...delivery } = found;
      return { ...delivery, owner: task.owner };
    },
    async note(id: string, { response_status, error, delivered }: AttemptRecord): Promise<void> {
      await row(pool, NOTE, [id, response_status, error, delivered]);
    },
    async giveUp(id: string): Promise<void> {
      await row(pool, GIVE_UP, [id]);
    },
    /** Messages that should have a delivery under way. */
    pending: async () => (await rows<{ id: string }>(pool, PENDING, [])).map(({ id }) => id),
    async ofTask(task_id: string) {
      const found = await prisma.webhookDelivery.findMany({
        where: { task_id },
        include: withAttempts,
        orderBy: { created_at: 'desc' },
      });
      return found.map(({ attempts, ...delivery }) => ({ ...wire(delivery), attempts: attempts.map(wire) }));
    },
    /** Back to how it was before it was put back. */
    async restore(id: string, status: string): Promise<void> {
      await prisma.webhookDelivery.updateMany({ where: { id }, data: { status } });
    },
    /** Puts a message back to be delivered. False when a delivery of it is under way. */
    async reopen(id: string): Promise<boolean> {
      const { count } = await prisma.webhookDelivery.updateMany({
        where: { id, status: { not: 'pending' } },
        data: { status: 'pending' },
      });
      return count === 1;
    },
  };
}
