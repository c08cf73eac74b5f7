import { v7 as uuid } from 'uuid';
import type { CompatItem } from '../../../contracts/compat-requests.ts';
import { conversations } from '../../../contracts/conversations.ts';
import { notFound } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/uuid.ts';
import type { Conversation } from '../../../generated/prisma/client.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { ConversationItemRow } from '../../../store/runs/conversations.ts';
import { createOnce } from '../../http/crud.ts';
import { type Api, mount } from '../../http/mount.ts';
import { toReply } from '../../http/validate.ts';
import type { CompatServices } from '../runs.ts';
import { getOwnConversation, refuseClosed } from './context.ts';
import { checkItems, parseItemId, toConversationItem, toStoredItems } from './conversation-items.ts';
import { withFilePaths } from './files.ts';
import { CONVERSATION_ID, toSeconds } from './replies.ts';

interface Known {
  id: string;
  metadata: unknown;
  created_at: Date;
}

const toConversation = ({ id, metadata, created_at }: Known) => ({
  id: `${CONVERSATION_ID}${id}`,
  object: 'conversation' as const,
  created_at: toSeconds(created_at.toISOString()),
  metadata: metadata as Record<string, string>,
});

function toItemList(rows: readonly ConversationItemRow[], has_more = false) {
  const data = rows.map(toConversationItem);
  return { object: 'list' as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more };
}

/** Serves conversations as OpenAI does. */
export function conversationRoutes(api: Api, services: CompatServices): void {
  const { conversations: table } = services.store;
  const getOwn = (id: string, caller: Caller) => getOwnConversation(services, id, caller);
  const getItem = async (conversation_id: string, item_id: string) => {
    const id = parseItemId(item_id);
    const item = isUuid(id) ? await table.item(conversation_id, id) : null;
    if (!item) throw notFound('item of this conversation', item_id);
    return item;
  };
  mount(api, conversations.create, async ({ body: { metadata, items }, reserved_id }, caller) => {
    const files = checkItems(items ?? [], 'items');
    const values = { metadata: metadata ?? {}, created_by: caller.key, ...(reserved_id ? { id: reserved_id } : {}) };
    const find = (id: string) => table.find(id, caller.key);
    const conversation = await createOnce(reserved_id, find, () => table.create(values));
    if (items?.length && conversation.last_position === 0)
      await addItems(services, { conversation: conversation, items, files }, caller).catch(async (error: unknown) => {
        await table.remove(conversation.id);
        throw error;
      });
    return toConversation(conversation);
  });
  const getConversation = async ({ params: { id } }: { params: { id: string } }, caller: Caller) =>
    toConversation(await getOwn(id, caller));
  const current = async (input: { params: { id: string } }, caller: Caller) =>
    toReply(conversations.get.reply, await getConversation(input, caller));
  mount(api, conversations.get, getConversation);
  mount(
    api,
    conversations.update,
    async ({ params: { id }, body: { metadata } }, caller) => {
      const conversation = await table.update((await getOwn(id, caller)).id, metadata ?? {});
      if (!conversation) throw notFound('conversation', id);
      return toConversation(conversation);
    },
    { current },
  );
  mount(
    api,
    conversations.remove,
    async ({ params: { id } }, caller) => {
      await table.remove((await getOwn(id, caller)).id);
      return { id, object: 'conversation.deleted' as const, deleted: true };
    },
    { current },
  );
  mount(api, conversations.items, async ({ params: { id }, query: { limit, order, after } }, caller) => {
    const conversation = await getOwn(id, caller);
    const place = after === undefined ? undefined : (await getItem(conversation.id, after)).position;
    const rows = await table.items(conversation.id, { limit: limit + 1, order, after: place });
    return toItemList(rows.slice(0, limit), rows.length > limit);
  });
  mount(api, conversations.add, async ({ params: { id }, body: { items }, reserved_id }, caller) => {
    const conversation = await getOwn(id, caller);
    const files = checkItems(items, 'items');
    const existing_item = reserved_id ? await table.item(conversation.id, reserved_id) : null;
    const first = existing_item?.id ?? (await addItems(services, { conversation, items, files, first: reserved_id }, caller));
    const { position } = await getItem(conversation.id, first);
    return toItemList(await table.items(conversation.id, { limit: items.length, order: 'asc', after: position - 1 }));
  });
  const getShownItem = async ({ params: { id, item_id } }: { params: { id: string; item_id: string } }, caller: Caller) =>
    toConversationItem(await getItem((await getOwn(id, caller)).id, item_id));
  mount(api, conversations.item, getShownItem);
  mount(
    api,
    conversations.removeItem,
    async ({ params: { id, item_id } }, caller) => {
      const conversation = await getOwn(id, caller);
      if (!(await table.removeItem(conversation.id, (await getItem(conversation.id, item_id)).id)))
        throw notFound('item of this conversation', item_id);
      return toConversation(conversation);
    },
    { current: async (input, caller) => toReply(conversations.item.reply, await getShownItem(input, caller)) },
  );
}

interface Adding {
  conversation: Conversation;
  items: readonly CompatItem[];
  files: ReturnType<typeof checkItems>;
  /** The id of the first item, if one was reserved for the request. */
  first?: string | undefined;
}

/** Adds items that a client sent, with their files. Returns the id of the first item. */
async function addItems(
  services: CompatServices,
  { conversation, items, files, first = uuid() }: Adding,
  caller: Caller,
): Promise<string> {
  const { id: conversation_id, last_position } = conversation;
  await refuseClosed(services, conversation, JSON.stringify(items).length);
  const file_requests = files.map(({ file }) => file);
  const attachments = await withFilePaths(files, () => services.attach(file_requests, caller.key));
  const new_items = toStoredItems(items, attachments).map((item, index) => ({ id: index === 0 ? first : uuid(), ...item }));
  await services.store.conversations.add({ conversation_id, last_position, items: new_items });
  return first;
}
