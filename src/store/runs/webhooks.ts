import type pg from 'pg';
import type { WebhookDelivery } from '../../contracts/webhooks.ts';
import type { AlertChannelType } from '../../domain/statuses.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import { row, rows } from '../database/database.ts';
import { wire, wireAs } from '../database/page.ts';
import * as sql from './webhooks.sql.ts';

interface PendingDelivery {
  id: string;
  /** The form of the message. */
  channel: AlertChannelType;
  url: string;
  payload: unknown;
  status: string;
  /** The owner whose secret signs it. */
  owner: string;
}

/** A message whose delivery is due, and the owner of its task or alert. */
export interface DueDelivery {
  id: string;
  owner: string;
}

interface AttemptRecord {
  response_status: number | null;
  error: string | null;
  delivered: boolean;
}

export type WebhookStore = ReturnType<typeof webhookStore>;

export function webhookStore({ pool, prisma }: { pool: pg.Pool; prisma: PrismaClient }) {
  const withAttempts = { attempts: { orderBy: { attempt: 'asc' } } } as const;
  return {
    async open(id: string): Promise<PendingDelivery | null> {
      const owner_select = { select: { owner: true } };
      const select = {
        id: true,
        channel: true,
        url: true,
        payload: true,
        status: true,
        task: owner_select,
        alert_event: { select: { alert: owner_select } },
      };
      const record = await prisma.webhookDelivery.findUnique({ where: { id }, select });
      if (!record) return null;
      const { task, alert_event, ...delivery } = record;
      return { ...wireAs<PendingDelivery>()(delivery), owner: (task ?? alert_event!.alert).owner };
    },
    async note(id: string, { response_status, error, delivered }: AttemptRecord): Promise<void> {
      await row(pool, sql.noteWebhookAttempt({ delivery_id: id, response_status, error, delivered }));
    },
    async giveUp(id: string): Promise<void> {
      await row(pool, sql.giveUpWebhook({ delivery_id: id }));
    },
    /** Returns the messages that should have a delivery in progress. */
    pending: () => rows<DueDelivery>(pool, sql.pendingWebhooks()),
    async listDeliveries(task_id: string) {
      const deliveries = await prisma.webhookDelivery.findMany({
        where: { task_id },
        include: withAttempts,
        orderBy: { created_at: 'desc' },
      });
      return deliveries.map(({ attempts, ...delivery }) => ({
        ...wireAs<WebhookDelivery>()(delivery),
        attempts: attempts.map(wire),
      }));
    },
    /** Restores the state before `reopen`. */
    async restore(id: string, status: string): Promise<void> {
      await prisma.webhookDelivery.updateMany({ where: { id }, data: { status } });
    },
    /** Queues a message for delivery again. Returns false if its delivery is in progress. */
    async reopen(id: string): Promise<boolean> {
      const { count } = await prisma.webhookDelivery.updateMany({
        where: { id, status: { not: 'pending' } },
        data: { status: 'pending' },
      });
      return count === 1;
    },
  };
}
