import { notFound } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/uuid.ts';
import type { ConversationMessage, ItemOrder, WaitingItem } from '../../../store/runs/conversations.ts';
import type { CompatServices } from '../runs.ts';
import { parseItemId, toGivenItem, toItems } from './conversation-items.ts';

type Services = Pick<CompatServices, 'store'>;

/** An item with its record: it waits for the next turn, or is in a message of a turn. */
interface FoundItem {
  item: ReturnType<typeof toGivenItem>;
  waiting?: WaitingItem;
  message?: ConversationMessage;
}

export const noItem = (item_id: string) => notFound('item of this conversation', item_id);

const toWaiting = ({ id, item }: WaitingItem) => toGivenItem({ id, item: item as { type: string } });

/** Finds an item of a conversation by its id on the wire; throws 404 if there is none. */
export async function findItem({ store }: Services, conversation_id: string, item_id: string): Promise<FoundItem> {
  const id = parseItemId(item_id);
  if (!id || !isUuid(id)) throw noItem(item_id);
  const waiting = await store.conversations.findWaiting(conversation_id, id);
  if (waiting && toWaiting(waiting).id === item_id) return { item: toWaiting(waiting), waiting };
  for (const message of await store.conversations.listMessagesOf(conversation_id, id)) {
    const item = toItems(message).find((one) => one.id === item_id);
    if (item) return { item, message };
  }
  throw noItem(item_id);
}

/** Finds an item by the id under which it was given. */
export async function findGiven(services: Services, conversation_id: string, id: string): Promise<FoundItem | null> {
  const { conversations } = services.store;
  const waiting = await conversations.findWaiting(conversation_id, id);
  if (waiting) return { item: toWaiting(waiting), waiting };
  for (const message of await conversations.listMessagesOf(conversation_id, id)) {
    const given = message.extra?.items.find((one) => one.id === id);
    if (given) return { item: toGivenItem(given), message };
  }
  return null;
}

/** Lists as many items as were given together, from the first one on. */
export async function listGiven(
  services: Services,
  conversation_id: string,
  { first, count }: { first: FoundItem; count: number },
): Promise<FoundItem['item'][]> {
  return [first.item, ...(await listItems(services, conversation_id, { order: 'asc', from: first, most: count - 1 }))];
}

interface Page {
  order: ItemOrder;
  /** The item after which the page begins. */
  from?: FoundItem | undefined;
  most: number;
}

/** Lists items of a conversation: those of its turns, then those that wait for the next one; or the other way round. */
export async function listItems(
  { store: { conversations } }: Services,
  conversation_id: string,
  { order, from, most }: Page,
): Promise<FoundItem['item'][]> {
  const listOfTurns = async (limit: number) => {
    const messages = await conversations.listMessages(conversation_id, { order, limit: limit + 1, from: from?.message });
    const items = messages.flatMap((message) => (order === 'asc' ? toItems(message) : toItems(message).reverse()));
    return from?.message ? items.slice(items.findIndex(({ id }) => id === from.item.id) + 1) : items;
  };
  const listWaiting = async (limit: number) =>
    (await conversations.listWaiting(conversation_id, { order, limit, after: from?.waiting?.position })).map(toWaiting);
  const parts = order === 'asc' ? [listOfTurns, listWaiting] : [listWaiting, listOfTurns];
  const is_past_first = order === 'asc' ? from?.waiting !== undefined : from?.message !== undefined;
  const found: FoundItem['item'][] = [];
  for (const list of is_past_first ? parts.slice(1) : parts)
    if (found.length < most) found.push(...(await list(most - found.length)));
  return found.slice(0, most);
}
