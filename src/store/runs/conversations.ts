import { v7 as uuid } from 'uuid';
import type { AttachedFile } from '../../domain/attachments.ts';
import { conversationLocked, type PromptParts } from '../../domain/conversation.ts';
import { notFound } from '../../domain/errors.ts';
import type { TranscriptMessage } from '../../domain/transcript.ts';
import type { Thread } from '../../generated/prisma/client.ts';
import { type Database, inTransaction, onlyRow, type Queryable, rows } from '../database/database.ts';
import * as sql from './conversations.sql.ts';
import { type ImportedTurn, importTurns } from './imported-turns.ts';

/** An item as it is stored: a message, a call or a result, with the ids of its files. */
export type StoredItem = Record<string, unknown> & { type: string };

/** An item that a client gave, under its id. */
export interface GivenItem {
  id: string;
  item: StoredItem;
}

/** A message of a conversation. The `extra` of an imported one is `{items}`: what its client had given. */
export interface ConversationMessage extends Omit<TranscriptMessage, 'turn' | 'extra'> {
  task_id: string;
  trigger: string;
  turn: number;
  extra: { items: GivenItem[] } | null;
  prompt_parts: PromptParts | null;
  attachments: AttachedFile[] | null;
  /** Set for the answer of a completed run. */
  answer: { response: unknown } | null;
}

type MessagePlace = Pick<ConversationMessage, 'turn' | 'step' | 'position'>;
export type ItemOrder = 'asc' | 'desc';

interface NewConversation {
  id?: string | undefined;
  metadata: Record<string, string>;
  owner: string;
  owner_login: string;
}

/** Stores the threads that are conversations of OpenAI's API. Each is invisible to others than its owner. */
export function conversationStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>) {
  return {
    find: (id: string, owner: string): Promise<Thread | null> => prisma.thread.findFirst({ where: { id, owner } }),
    create: ({ id = uuid(), ...values }: NewConversation) => prisma.thread.create({ data: { id, ...values } }),
    async update(id: string, metadata: Record<string, string>): Promise<Thread | undefined> {
      const [thread] = await prisma.thread.updateManyAndReturn({ where: { id }, data: { metadata } });
      return thread;
    },
    /** Deletes a conversation. Its responses stay. */
    async remove(id: string): Promise<void> {
      await inTransaction(pool, async (on) => {
        await rows(on, sql.lockThread({ id }));
        await rows(on, sql.detachTurns({ id }));
        await rows(on, sql.removeConversation({ id }));
      });
    },
    /** Returns the number and bytes of the items that no turn has taken. */
    size: (thread_id: string) => onlyRow<{ items: number; bytes: number }>(pool, sql.conversationSize({ thread_id })),
    /** Lists the items that no turn has taken, from a position on. */
    listWaiting: (thread_id: string, { order, limit, after }: { order: ItemOrder; limit?: number; after?: number | undefined }) =>
      prisma.conversationItem.findMany({
        where: { thread_id, ...(after === undefined ? {} : { position: { [order === 'asc' ? 'gt' : 'lt']: after } }) },
        orderBy: { position: order },
        ...(limit === undefined ? {} : { take: limit }),
      }),
    findWaiting: (thread_id: string, id: string) => prisma.conversationItem.findFirst({ where: { thread_id, id } }),
    /** Lists messages of the branch in use, from a place on, which is included. */
    listMessages: (
      thread_id: string,
      { order, limit, from }: { order: ItemOrder; limit: number; from?: MessagePlace | undefined },
    ) => {
      const { turn = null, step = null, position = null } = from ?? {};
      const page = order === 'asc' ? sql.conversationMessagesAsc : sql.conversationMessagesDesc;
      return rows<ConversationMessage>(pool, page({ thread_id, turn, step, position, limit }));
    },
    /** Lists the messages of a turn, or those that were given under this id. */
    listMessagesOf: (thread_id: string, id: string) =>
      rows<ConversationMessage>(pool, sql.conversationMessagesOf({ thread_id, id })),
    /** Adds items. Throws `conversation_locked` while a turn is in progress, or if others were added at the same moment. */
    add: (thread_id: string, items: NewItem[], created_by: string) =>
      inTransaction(pool, (on) => addItems(on, items, { thread_id, created_by })).catch((error: unknown) => {
        throw (error as { constraint?: string }).constraint === 'conversation_items_thread_id_position_key'
          ? conversationLocked()
          : error;
      }),
    async removeWaiting(thread_id: string, id: string): Promise<boolean> {
      return (await prisma.conversationItem.deleteMany({ where: { thread_id, id } })).count > 0;
    },
    /** Leaves a message out of what later turns read. Returns false if it was left out before. */
    async omit(thread_id: string, { task_id, step, position }: ConversationMessage): Promise<boolean> {
      return (await onlyRow<{ removed: number }>(pool, sql.omitMessage({ thread_id, task_id, step, position }))).removed > 0;
    },
    /** Turns the items that wait into turns. Throws `conversation_locked` while a turn is in progress, or if they were taken before. */
    take: (thread_id: string, ids: string[], { turns, ...target }: TakenItems) =>
      inTransaction(pool, async (on) => {
        if (!(await importTurns(on, turns, { thread_id, ...target }))) throw conversationLocked();
        if ((await rows(on, sql.takeConversationItems({ thread_id, ids }))).length < ids.length) throw conversationLocked();
      }),
  };
}

interface TakenItems {
  turns: ImportedTurn[];
  workflow_id: string;
  agent: { id: string; name: string };
}

export type WaitingItem = NonNullable<Awaited<ReturnType<ReturnType<typeof conversationStore>['findWaiting']>>>;

interface NewItem extends GivenItem {
  file_ids?: readonly string[];
}

async function addItems(on: Queryable, items: NewItem[], place: { thread_id: string; created_by: string }): Promise<void> {
  const values = JSON.stringify(items.map(({ id, item }) => ({ id, item })));
  const item_rows = await rows(on, sql.addConversationItems({ ...place, items: values }));
  if (item_rows.length !== items.length) throw conversationLocked();
  for (const { id, file_ids: ids = [] } of items) {
    if (ids.length === 0) continue;
    const file_rows = await rows<{ attachment_id: string }>(on, sql.keepItemFiles({ item_id: id, ids }));
    const missing_id = ids.find((file) => !file_rows.some(({ attachment_id }) => attachment_id === file));
    if (missing_id) throw notFound('attachment', missing_id);
  }
}
