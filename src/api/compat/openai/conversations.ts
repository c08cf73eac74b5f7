import { v7 as uuid } from 'uuid';
import type { CompatItem } from '../../../contracts/compat-requests.ts';
import { conversations } from '../../../contracts/conversations.ts';
import { notFound } from '../../../domain/errors.ts';
import type { Thread } from '../../../generated/prisma/client.ts';
import type { Caller } from '../../../identity/caller.ts';
import { createOnce } from '../../http/crud.ts';
import { type Api, mount } from '../../http/mount.ts';
import { toReply } from '../../http/validate.ts';
import type { CompatServices } from '../runs.ts';
import { getOwnConversation, refuseClosed } from './context.ts';
import { checkItems, toGivenItem, toStoredItems } from './conversation-items.ts';
import { findGiven, findItem, listGiven, listItems, noItem } from './conversation-pages.ts';
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

type WiredItem = ReturnType<typeof toGivenItem>;

const toItemList = (data: WiredItem[], has_more = false) => ({
  object: 'list' as const,
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more,
});

/** Serves conversations as OpenAI does. */
export function conversationRoutes(api: Api, services: CompatServices): void {
  const { conversations: table } = services.store;
  const getOwn = (id: string, caller: Caller) => getOwnConversation(services, id, caller);
  const getItem = (conversation_id: string, item_id: string) => findItem(services, conversation_id, item_id);
  mount(api, conversations.create, async ({ body: { metadata, items }, reserved_id }, caller) => {
    const files = checkItems(items ?? [], 'items');
    const values = { id: reserved_id, metadata: metadata ?? {}, owner: caller.key, owner_login: caller.login };
    const find = (id: string) => table.find(id, caller.key);
    const conversation = await createOnce(reserved_id, find, () => table.create(values));
    // A repetition of the request has added them before.
    const is_new = conversation.head_task_id === null && (await table.size(conversation.id)).items === 0;
    if (items?.length && is_new)
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
    const from = after === undefined ? undefined : await getItem(conversation.id, after);
    const items = await listItems(services, conversation.id, { order, from, most: limit + 1 });
    return toItemList(items.slice(0, limit), items.length > limit);
  });
  mount(api, conversations.add, async ({ params: { id }, body: { items }, reserved_id }, caller) => {
    const conversation = await getOwn(id, caller);
    const files = checkItems(items, 'items');
    const first = reserved_id && (await findGiven(services, conversation.id, reserved_id));
    const added = first ? await listGiven(services, conversation.id, { first, count: items.length }) : null;
    return toItemList(added ?? (await addItems(services, { conversation, items, files, first: reserved_id }, caller)));
  });
  const getShownItem = async ({ params: { id, item_id } }: { params: { id: string; item_id: string } }, caller: Caller) =>
    (await getItem((await getOwn(id, caller)).id, item_id)).item;
  mount(api, conversations.item, getShownItem);
  mount(
    api,
    conversations.removeItem,
    async ({ params: { id, item_id } }, caller) => {
      const conversation = await getOwn(id, caller);
      const { waiting, message } = await getItem(conversation.id, item_id);
      const removed = waiting
        ? await table.removeWaiting(conversation.id, waiting.id)
        : await table.omit(conversation.id, message!);
      if (!removed) throw noItem(item_id);
      return toConversation(conversation);
    },
    { current: async (input, caller) => toReply(conversations.item.reply, await getShownItem(input, caller)) },
  );
}

interface Adding {
  conversation: Thread;
  items: readonly CompatItem[];
  files: ReturnType<typeof checkItems>;
  /** The id of the first item, if one was reserved for the request. */
  first?: string | undefined;
}

/** Adds items that a client sent, with their files. Returns them. */
async function addItems(
  services: CompatServices,
  { conversation, items, files, first = uuid() }: Adding,
  caller: Caller,
): Promise<WiredItem[]> {
  await refuseClosed(services, conversation, JSON.stringify(items).length);
  const file_requests = files.map(({ file }) => file);
  const attachments = await withFilePaths(files, () => services.attach(file_requests, caller.key));
  const new_items = toStoredItems(items, attachments).map((item, index) => ({ id: index === 0 ? first : uuid(), ...item }));
  await services.store.conversations.add(conversation.id, new_items, caller.key);
  return new_items.map(toGivenItem);
}
