import { z } from 'zod';
import { openai } from './compat.ts';
import { CompatItem } from './compat-requests.ts';
import { endpoint } from './endpoint.ts';

const ID = 'conv_0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const MOST_PAIRS = 16;
/** The most items that one request may add. */
const MOST_ITEMS_ADDED = 20;

const Metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= MOST_PAIRS, `At most ${MOST_PAIRS} pairs`)
  .meta({ description: `At most ${MOST_PAIRS} pairs: keys of 64 characters, values of 512`, example: { topic: 'demo' } });

const Items = z
  .array(CompatItem)
  .refine(({ length }) => length <= MOST_ITEMS_ADDED, `At most ${MOST_ITEMS_ADDED} items`)
  .meta({ description: `At most ${MOST_ITEMS_ADDED} messages, function calls and their results` });

const ConversationCreate = z
  .object({ metadata: Metadata.nullish(), items: Items.nullish() })
  .meta({ id: 'ConversationCreate', example: { items: [{ role: 'user', content: 'I am Ann.' }] } });
const ConversationUpdate = z.object({ metadata: Metadata.nullable() }).meta({ id: 'ConversationUpdate' });
const ConversationItemsCreate = z
  .object({ items: Items.min(1) })
  .meta({ id: 'ConversationItemsCreate', example: { items: [{ role: 'user', content: 'I am Ann.' }] } });

const Conversation = z
  .object({
    id: z.string().meta({ example: ID }),
    object: z.literal('conversation'),
    created_at: z.int(),
    metadata: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Conversation' });

const ConversationDeleted = z
  .object({ id: z.string(), object: z.literal('conversation.deleted'), deleted: z.boolean() })
  .meta({ id: 'ConversationDeleted' });

const ConversationItem = z.looseObject({ id: z.string(), type: z.string() }).meta({ id: 'ConversationItem' });

const ConversationItems = z
  .object({
    object: z.literal('list'),
    data: z.array(ConversationItem),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'ConversationItems' });

const ConversationId = z.object({ id: z.string().meta({ example: ID }) });
const ItemId = ConversationId.extend({ item_id: z.string() });

const one = { ...openai, params: ConversationId, refuses: [404] };
const item = { ...openai, params: ItemId, refuses: [404] };

export const conversations = {
  create: endpoint('POST /v1/conversations', {
    ...openai,
    operation: 'create_conversation',
    summary: 'Create a conversation that responses continue',
    body: ConversationCreate,
    reply: Conversation,
    refuses: [404, 409, 413],
    idempotent: true,
    stores: true,
  }),
  get: endpoint('GET /v1/conversations/{id}', {
    ...one,
    operation: 'get_conversation',
    summary: 'Read a conversation',
    reply: Conversation,
  }),
  update: endpoint('POST /v1/conversations/{id}', {
    ...one,
    operation: 'update_conversation',
    summary: 'Replace the metadata of a conversation',
    body: ConversationUpdate,
    reply: Conversation,
    refuses: [404, 412, 413],
    stores: true,
  }),
  remove: endpoint('DELETE /v1/conversations/{id}', {
    ...one,
    operation: 'delete_conversation',
    summary: 'Delete a conversation with its items; its runs stay',
    reply: ConversationDeleted,
    refuses: [404, 412],
  }),
  items: endpoint('GET /v1/conversations/{id}/items', {
    ...one,
    operation: 'list_conversation_items',
    summary: 'List the items of a conversation',
    query: z.looseObject({
      limit: z.coerce.number().int().min(1).max(100).default(20),
      order: z.enum(['asc', 'desc']).default('desc'),
      after: z.string().optional().meta({ description: 'The id of the item after which the page begins' }),
    }),
    reply: ConversationItems,
    refuses: [404],
  }),
  add: endpoint('POST /v1/conversations/{id}/items', {
    ...one,
    operation: 'create_conversation_items',
    summary: 'Add items to a conversation',
    description: 'Refused while a response of the conversation is in progress.',
    body: ConversationItemsCreate,
    reply: ConversationItems,
    refuses: [404, 409, 413],
    idempotent: true,
    stores: true,
  }),
  item: endpoint('GET /v1/conversations/{id}/items/{item_id}', {
    ...item,
    operation: 'get_conversation_item',
    summary: 'Read an item of a conversation',
    reply: ConversationItem,
  }),
  removeItem: endpoint('DELETE /v1/conversations/{id}/items/{item_id}', {
    ...item,
    operation: 'delete_conversation_item',
    summary: 'Delete an item from a conversation',
    reply: Conversation,
    refuses: [404, 412],
  }),
};
