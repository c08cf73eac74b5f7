import type pg from 'pg';
import type { MessageReceipt } from '../../contracts/thread-messages.ts';
import type { AttachedFile } from '../../domain/attachments.ts';
import { notFound } from '../../domain/errors.ts';
import { formatReason } from '../../domain/receipts.ts';
import { storable } from '../../domain/transcript.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import { row, rows } from '../database/database.ts';
import { cutPage, type Paging, parseCursor, toCursor, type Wire, wire } from '../database/page.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import type { Publish } from './settlement.ts';
import { callerContext, toBytea } from './tasks.ts';
import * as sql from './thread-messages.sql.ts';

/** A message for a run that works. */
interface NewSteer {
  id: string;
  /** The claim of its request's Idempotency-Key; absent: it has none. */
  claim?: number | null | undefined;
  /** The task that held the lane when the message was checked. */
  task_id: string;
  workflow_id: string;
  thread_id: string | null;
  owner: string;
  owner_login: string;
  message: string;
  attachments: readonly AttachedFile[];
  when_busy: string;
  metadata: Record<string, string>;
  service_key_id: string | null;
  /** The sender's access token, for the case that the message begins a run; null: it would not be used. */
  caller_token: string | null;
}

/** The task that holds a lane. */
export interface LaneHolder {
  task_id: string;
  definition_hash: string;
  /** The number of messages that wait for it. */
  waiting: number;
}

type ReceiptRow = Omit<MessageReceipt, 'created_at' | 'updated_at'> & { owner: string; created_at: Date; updated_at: Date };
export type StoredReceipt = Wire<ReceiptRow>;

interface Stores {
  pool: pg.Pool;
  keys: KeyRing;
  publish?: Publish;
}

const toReceipt = ({ reason, ...found }: ReceiptRow): StoredReceipt =>
  wire({ ...found, reason: reason === null ? null : formatReason(reason) });

const EXCERPT = 200;
const FOREIGN_KEY = '23503';

/** Stores messages with receipts. A message that begins a turn is written with its task; others wait for the task that works. */
export function threadMessageStore({ pool, keys, publish = () => {} }: Stores) {
  const find = async (id: string): Promise<StoredReceipt | null> => {
    const found = await row<ReceiptRow>(pool, sql.messageReceipt({ id }));
    return found ? toReceipt(found) : null;
  };
  return {
    find,
    /** Lists the messages of a thread, newest first. */
    async list(thread_id: string, { limit, cursor }: Paging) {
      const before = parseCursor(cursor) ?? null;
      const [found, counted] = await Promise.all([
        rows<ReceiptRow>(pool, sql.receiptsOfThread({ thread_id, before, limit: limit + 1 })),
        row<{ total: number }>(pool, sql.messagesOfThread({ thread_id })),
      ]);
      return cutPage(found.map(toReceipt), { total: counted!.total, limit, getCursor: ({ id }) => toCursor(id) });
    },
    /** Lists the messages that a run has not read yet, in the order in which they were accepted. */
    async listWaiting(task_id: string): Promise<StoredReceipt[]> {
      return (await rows<ReceiptRow>(pool, sql.waitingMessages({ task_id }))).map(toReceipt);
    },
    /** True if a task was begun for a message that another run had not read when it ended. */
    isHandedOver: async (task_id: string): Promise<boolean> => (await row(pool, sql.handedOver({ task_id }))) !== undefined,
    /** Returns the task that holds the lane of a thread, or of a workflow; undefined if none does, or it is being stopped. */
    findHolder: (lane: { thread_id: string | null; workflow_id: string }) => row<LaneHolder>(pool, sql.laneHolder(lane)),
    /** Writes a message for the task that holds the lane. Returns false if another one holds it now, or none, or its claim is overtaken. */
    async steer({ claim = null, ...steer }: NewSteer): Promise<boolean> {
      const { id, task_id, workflow_id, message } = steer;
      const at = new Date();
      const { log } = createTaskEvents(task_id, () => at.toISOString());
      const events = [log('message_waiting', storable([...message].slice(0, EXCERPT).join('')), { message_id: id })];
      const values = { message: JSON.stringify(toRow(steer, { at, keys })), events: JSON.stringify(events), claim };
      const written = await row<{ last: number }>(pool, sql.steerMessage(values)).catch(
        (error: { code?: string; detail?: string }) => {
          if (error.code !== FOREIGN_KEY) throw error;
          throw notFound('attachment', /=\((.+)\) is not/.exec(error.detail ?? '')?.[1] ?? 'of this message');
        },
      );
      if (written) publish(workflow_id, task_id, { events, last: written.last });
      return written !== undefined || (await find(id)) !== null;
    },
    /** Withdraws a message that no run has read. Returns its task; null if a run has, or it is withdrawn or refused. */
    async withdraw({ id, workflow_id, task_id }: StoredReceipt): Promise<string | null> {
      const { log } = createTaskEvents(task_id, () => new Date().toISOString());
      const events = [log('message_withdrawn', 'The author withdrew the message', { message_id: id })];
      const gone = await row<{ task_id: string; last: number }>(
        pool,
        sql.withdrawMessage({ id, events: JSON.stringify(events) }),
      );
      if (gone) publish(workflow_id, gone.task_id, { events, last: gone.last });
      return gone?.task_id ?? null;
    },
  };
}

function toRow(
  { message, attachments, caller_token, ...steer }: Omit<NewSteer, 'claim'>,
  { at, keys }: { at: Date; keys: KeyRing },
): Record<(typeof sql.NEW_MESSAGE)[number], unknown> {
  const caller = caller_token === null ? null : keys.seal(caller_token, callerContext(steer.id));
  return {
    ...steer,
    content: storable(message),
    attachments: attachments.length > 0 ? attachments : null,
    caller_token: caller && toBytea(caller.sealed),
    caller_key_id: caller?.key_id ?? null,
    created_at: at,
    updated_at: at,
  };
}
