import { v7 as uuid } from 'uuid';
import type { CompatItem } from '../../../contracts/compat.ts';
import { conversations } from '../../../contracts/conversations.ts';
import { notFound } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/uuid.ts';
import type { Conversation } from '../../../generated/prisma/client.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { ConversationItemRow } from '../../../store/runs/conversations.ts';
import { madeOnce } from '../../http/crud.ts';
import { type Api, mount } from '../../http/mount.ts';
import type { CompatServices } from '../runs.ts';
import { ownedConversation, refuseClosed } from './context.ts';
import { checkedItems, conversationItem, idOfItem, storedItems } from './conversation-items.ts';
import { inTheirPlaces } from './files.ts';
import { CONVERSATION_ID, seconds } from './replies.ts';

interface Known {
  id: string;
  metadata: unknown;
  created_at: Date;
}

const wired = ({ id, metadata, created_at }: Known) => ({
  id: `${CONVERSATION_ID}${id}`,
  object: 'conversation' as const,
  created_at: seconds(created_at.toISOString()),
  metadata: metadata as Record<string, string>,
});

function listOf(rows: readonly ConversationItemRow[], has_more = false) {
  const data = rows.map(conversationItem);
  return { object: 'list' as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more };
}

/** Serves conversations as OpenAI does. */
export function conversationRoutes(api: Api, services: CompatServices): void {
  const { conversations: table } = services.store;
  const owned = (id: string, caller: Caller) => ownedConversation(services, id, caller);
  const itemOf = async (conversation_id: string, item_id: string) => {
    const id = idOfItem(item_id);
    const found = isUuid(id) ? await table.item(conversation_id, id) : null;
    if (!found) throw notFound('item of this conversation', item_id);
    return found;
  };
  mount(api, conversations.create, async ({ body: { metadata, items }, reserved_id }, caller) => {
    const files = checkedItems(items ?? [], 'items');
    const values = { metadata: metadata ?? {}, created_by: caller.key, ...(reserved_id ? { id: reserved_id } : {}) };
    const find = (id: string) => table.find(id, caller.key);
    const made = await madeOnce(reserved_id, find, () => table.create(values));
    if (items?.length && made.last_position === 0)
      await addTo(services, { conversation: made, items, files }, caller).catch(async (error: unknown) => {
        await table.remove(made.id);
        throw error;
      });
    return wired(made);
  });
  mount(api, conversations.get, async ({ params: { id } }, caller) => wired(await owned(id, caller)));
  mount(api, conversations.update, async ({ params: { id }, body: { metadata } }, caller) => {
    const changed = await table.update((await owned(id, caller)).id, metadata ?? {});
    if (!changed) throw notFound('conversation', id);
    return wired(changed);
  });
  mount(api, conversations.remove, async ({ params: { id } }, caller) => {
    await table.remove((await owned(id, caller)).id);
    return { id, object: 'conversation.deleted' as const, deleted: true };
  });
  mount(api, conversations.items, async ({ params: { id }, query: { limit, order, after } }, caller) => {
    const conversation = await owned(id, caller);
    const place = after === undefined ? undefined : (await itemOf(conversation.id, after)).position;
    const rows = await table.items(conversation.id, { limit: limit + 1, order, after: place });
    return listOf(rows.slice(0, limit), rows.length > limit);
  });
  mount(api, conversations.add, async ({ params: { id }, body: { items }, reserved_id }, caller) => {
    const conversation = await owned(id, caller);
    const files = checkedItems(items, 'items');
    const made = reserved_id ? await table.item(conversation.id, reserved_id) : null;
    const first = made?.id ?? (await addTo(services, { conversation, items, files, first: reserved_id }, caller));
    const { position } = await itemOf(conversation.id, first);
    return listOf(await table.items(conversation.id, { limit: items.length, order: 'asc', after: position - 1 }));
  });
  mount(api, conversations.item, async ({ params: { id, item_id } }, caller) =>
    conversationItem(await itemOf((await owned(id, caller)).id, item_id)),
  );
  mount(api, conversations.removeItem, async ({ params: { id, item_id } }, caller) => {
    const conversation = await owned(id, caller);
    if (!(await table.removeItem(conversation.id, (await itemOf(conversation.id, item_id)).id)))
      throw notFound('item of this conversation', item_id);
    return wired(conversation);
  });
}

interface Adding {
  conversation: Conversation;
  items: readonly CompatItem[];
  files: ReturnType<typeof checkedItems>;
  /** The id of the first item, if one was reserved for the request. */
  first?: string | undefined;
}

/** Adds items that a client sent, with their files. Returns the id of the first. */
async function addTo(
  services: CompatServices,
  { conversation, items, files, first = uuid() }: Adding,
  caller: Caller,
): Promise<string> {
  const { id: conversation_id, last_position } = conversation;
  await refuseClosed(services, conversation, JSON.stringify(items).length);
  const asked = files.map(({ file }) => file);
  const attached = await inTheirPlaces(files, () => services.attach(asked, caller.key));
  const added = storedItems(items, attached).map((item, index) => ({ id: index === 0 ? first : uuid(), ...item }));
  await services.store.conversations.add({ conversation_id, last_position, items: added });
  return first;
}
