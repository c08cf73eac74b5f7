import { v7 as uuid } from 'uuid';
import { conversationLocked } from '../../domain/conversation.ts';
import { notFound } from '../../domain/errors.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Conversation } from '../../generated/prisma/client.ts';
import { type Database, inTransaction, onlyRow, type Queryable, rows } from '../database/database.ts';
import * as sql from './conversations.sql.ts';

/** An item as it is stored: a message, a call or a result, with the ids of its files. */
export type StoredItem = Record<string, unknown> & { type: string };

/** Items to add after the position that was read. */
export interface NewItems {
  conversation_id: string;
  last_position: number;
  /** The items. The one whose `item` is null is the answer of the run. */
  items: { id: string; item: StoredItem | null; file_ids?: readonly string[] }[];
}

interface ItemPage {
  limit: number;
  order: 'asc' | 'desc';
  /** The position after which the page begins. */
  after?: number | undefined;
}

const ANSWER = { include: { task: { select: { response: true } } } } as const;

/** Stores conversations of OpenAI's API. Each belongs to one principal and is invisible to others. */
export function conversationStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>) {
  /** Selects the visible items: an item added by a run counts once the run has completed. */
  const visible = (conversation_id: string) => ({
    conversation_id,
    OR: [{ task_id: null }, { task: { status: 'completed' } }],
  });
  return {
    find: (id: string, created_by: string) => prisma.conversation.findFirst({ where: { id, created_by } }),
    create: ({ id = uuid(), metadata, created_by }: { id?: string; metadata: Record<string, string>; created_by: string }) =>
      prisma.conversation.create({ data: { id, metadata, created_by } }),
    async update(id: string, metadata: Record<string, string>): Promise<Conversation | undefined> {
      const [conversation] = await prisma.conversation.updateManyAndReturn({ where: { id }, data: { metadata } });
      return conversation;
    },
    async remove(id: string): Promise<void> {
      await prisma.conversation.deleteMany({ where: { id } });
    },
    /** Returns true if a run is continuing the conversation right now. */
    async isContinued({ last_task_id }: Pick<Conversation, 'last_task_id'>): Promise<boolean> {
      if (!last_task_id) return false;
      const task = await prisma.task.findUnique({ where: { id: last_task_id }, select: { status: true } });
      return task !== null && !isTerminal(task.status);
    },
    /** Returns the number and bytes of all its items, including those of the run that continues it. */
    size: async (conversation_id: string) =>
      await onlyRow<{ items: number; bytes: number }>(pool, sql.conversationSize({ conversation_id })),
    items: (conversation_id: string, { limit, order, after }: ItemPage) =>
      prisma.conversationItem.findMany({
        where: {
          AND: [visible(conversation_id), after === undefined ? {} : { position: { [order === 'asc' ? 'gt' : 'lt']: after } }],
        },
        orderBy: { position: order },
        take: limit,
        ...ANSWER,
      }),
    item: (conversation_id: string, id: string) =>
      prisma.conversationItem.findFirst({ where: { AND: [visible(conversation_id), { id }] }, ...ANSWER }),
    add: (items: NewItems) => inTransaction(pool, (on) => addItems(on, items)),
    async removeItem(conversation_id: string, id: string): Promise<boolean> {
      const { count } = await prisma.conversationItem.deleteMany({ where: { AND: [visible(conversation_id), { id }] } });
      return count > 0;
    },
  };
}

export type ConversationItemRow = NonNullable<Awaited<ReturnType<ReturnType<typeof conversationStore>['item']>>>;

/**
 * Adds items in the transaction that created the task; with a task, they belong to its run. Throws `conversation_locked` if
 * others were added first.
 */
export async function addItems(on: Queryable, { items, ...place }: NewItems, task_id: string | null = null): Promise<void> {
  const values = JSON.stringify(items.map(({ id, item }) => ({ id, item })));
  const item_rows = await rows(on, sql.addConversationItems({ ...place, task_id, items: values }));
  if (item_rows.length !== items.length) throw conversationLocked();
  for (const { id, file_ids: ids = [] } of items) {
    if (ids.length === 0) continue;
    const file_rows = await rows<{ attachment_id: string }>(on, sql.keepItemFiles({ item_id: id, ids }));
    const missing_id = ids.find((file) => !file_rows.some(({ attachment_id }) => attachment_id === file));
    if (missing_id) throw notFound('attachment', missing_id);
  }
}
