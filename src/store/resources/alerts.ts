import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import type { z } from 'zod';
import {
  type Alert,
  type AlertChannel,
  type AlertCreate,
  type AlertEvent,
  type AlertUpdate,
  KEPT_ALERT_EVENTS,
} from '../../contracts/alerts.ts';
import { alertChange, type MeasuredAlert, showAddress } from '../../domain/alerts.ts';
import type { Prisma, PrismaClient, Alert as Row } from '../../generated/prisma/client.ts';
import { inTransaction, LONG_STATEMENT_MS, row, rows } from '../database/database.ts';
import { listPage, type Paging, type RowPage, wireAs } from '../database/page.ts';
import { translateConstraintErrors } from '../database/resource.ts';
import { sumWebhookAttempts } from '../runs/webhooks.sql.ts';
import { maskChannels, unmaskChannels } from './alert-channels.ts';
import * as sql from './alerts.sql.ts';

const NOUN = 'alert';

type StoredAlert = Alert & { owner: string };

interface NewAlert extends z.output<typeof AlertCreate> {
  id?: string | undefined;
  owner: string;
}

/** Without payloads and attempts, of which an event may have thousands. */
const DELIVERIES = { select: { id: true, channel: true, url: true, status: true }, orderBy: { id: 'asc' } } as const;
type EventRow = Prisma.AlertEventGetPayload<{ include: { deliveries: typeof DELIVERIES } }>;

interface Attempts {
  delivery_id: string;
  attempts: number;
  /** Of the last attempt. */
  error: string | null;
}

export function alertStore({ pool, prisma }: { pool: pg.Pool; prisma: PrismaClient }) {
  const table = prisma.alert;
  return {
    async find(id: string): Promise<StoredAlert | null> {
      const alert = await table.findUnique({ where: { id } });
      return alert && alertOfRow(alert);
    },
    list: ({ owner, q, ...paging }: Paging & { owner: string; q?: string | undefined }) =>
      listPage(table, {
        where: { owner, ...(q ? { name: { contains: q, mode: 'insensitive' } } : {}) },
        paging,
        toItem: alertOfRow,
      }),
    countOwned: (owner: string): Promise<number> => table.count({ where: { owner } }),
    async create({ id = uuid(), ...values }: NewAlert): Promise<StoredAlert> {
      const data = { id, ...values, channels: unmaskChannels(values.channels, []) };
      return alertOfRow(await translateConstraintErrors(NOUN, table.create({ data })));
    },
    /** Changes an alert. A disabled alert stops firing. */
    async update(id: string, values: z.output<typeof AlertUpdate>): Promise<StoredAlert> {
      const ends = values.enabled === false ? { state: 'ok', state_since: new Date() } : {};
      const channels = values.channels && { channels: unmaskChannels(values.channels, (await this.findTargets(id)).channels) };
      const data = { ...values, ...channels, ...ends } as Prisma.AlertUncheckedUpdateInput;
      return alertOfRow(await translateConstraintErrors(NOUN, table.update({ where: { id }, data })));
    },
    /** Returns where an alert sends messages, with addresses in clear. */
    async findTargets(id: string): Promise<{ webhook_url: string | null; channels: AlertChannel[] }> {
      const { webhook_url, channels } = await table.findUniqueOrThrow({ where: { id } });
      return { webhook_url, channels: channels as AlertChannel[] };
    },
    async remove(id: string): Promise<void> {
      await table.deleteMany({ where: { id } });
    },
    async listEvents(alert_id: string, paging: Paging): Promise<RowPage<AlertEvent>> {
      const more = { include: { deliveries: DELIVERIES } };
      const page = await listPage(prisma.alertEvent, { where: { alert_id }, paging, toItem: (event: EventRow) => event, more });
      const delivery_ids = page.items.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
      const attempts = await rows<Attempts>(pool, sumWebhookAttempts({ delivery_ids }));
      const by_delivery = new Map(attempts.map((sum) => [sum.delivery_id, sum]));
      return { ...page, items: page.items.map((event) => eventOfRow(event, by_delivery)) };
    },
    /**
     * Measures all alerts, and records those that fire or are resolved, with their messages. Does nothing while another process
     * measures.
     */
    measure: (now: Date): Promise<void> =>
      inTransaction(pool, async (connection) => {
        const on = {
          query: (query: pg.QueryConfig) => connection.query({ ...query, query_timeout: LONG_STATEMENT_MS } as never),
        };
        if (!(await row<{ taken: boolean }>(on, sql.takeAlertTurn()))?.taken) return;
        const measurements = await rows<MeasuredAlert>(on, sql.measureAlerts());
        if (measurements.length === 0) return;
        const changes = measurements.flatMap((alert) => {
          const change = alertChange(alert, now.toISOString());
          if (!change) return [];
          const deliveries = change.deliveries.map((address) => ({ id: uuid(), ...address }));
          return [{ event_id: uuid(), ...change, deliveries }];
        });
        const values = measurements.map(({ id, value }) => ({ id, value }));
        const note_values = { measured: JSON.stringify(values), changes: JSON.stringify(changes), kept: KEPT_ALERT_EVENTS };
        await row(on, sql.noteAlerts(note_values));
      }),
  };
}

const alertOfRow = ({ channels, ...row }: Row): StoredAlert => ({
  ...wireAs<Alert>()(row),
  channels: maskChannels(channels as AlertChannel[]),
});

function eventOfRow({ alert_id: _, deliveries: rows, ...event }: EventRow, attempts: ReadonlyMap<string, Attempts>): AlertEvent {
  const deliveries = rows.map(({ id, channel, url, status }) => ({
    ...wireAs<AlertEvent['deliveries'][number]>()({ channel, status }),
    to: showAddress(url),
    attempts: attempts.get(id)?.attempts ?? 0,
    error: attempts.get(id)?.error ?? null,
  }));
  const sum = (status: string) => deliveries.find((delivery) => delivery.status === status);
  return {
    ...wireAs<AlertEvent>()(event),
    delivery_status: (sum('pending') ?? sum('failed') ?? deliveries[0])?.status ?? null,
    delivery_attempts: deliveries.reduce((total, { attempts }) => total + attempts, 0),
    delivery_error: deliveries.find(({ error }) => error !== null)?.error ?? null,
    deliveries,
  };
}
