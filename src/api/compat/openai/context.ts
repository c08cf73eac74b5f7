import { v7 as uuid } from 'uuid';
import type { CompatItem, ResponseRequest } from '../../../contracts/compat-requests.ts';
import type { AttachedFile } from '../../../domain/attachments.ts';
import { conversationLocked, parseConversation } from '../../../domain/conversation.ts';
import { AppError, notFound } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/uuid.ts';
import type { Conversation } from '../../../generated/prisma/client.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { NewItems } from '../../../store/runs/conversations.ts';
import { type CompatServices, formatAnswer, hasEnded, type RunOrder } from '../runs.ts';
import { toConversationItem, toStoredItems } from './conversation-items.ts';
import { type ParsedMessages, parsePriorMessages } from './messages.ts';
import { CONVERSATION_ID, MESSAGE_ID, parseTaskId, RESPONSE_ID } from './replies.ts';
import { createContentError, getItemType } from './response-items.ts';

/** The response or conversation that a request continues. */
interface Continued {
  conversation?: Conversation | undefined;
  previous?: string | undefined;
}

/**
 * Loads what a request continues. Refuses a request that names both a response and a conversation, and a conversation that is not
 * the caller's.
 */
export async function loadContinuation(
  services: CompatServices,
  { previous_response_id, conversation }: Pick<ResponseRequest, 'previous_response_id' | 'conversation'>,
  caller: Caller,
): Promise<Continued> {
  if (!conversation) return { previous: previous_response_id || undefined };
  if (previous_response_id) {
    const message = 'previous_response_id and conversation exclude each other; send one of them';
    throw new AppError('invalid', message, {
      code: 'mutually_exclusive_parameters',
      errors: [{ path: 'previous_response_id', message }],
    });
  }
  const id = typeof conversation === 'string' ? conversation : conversation.id;
  return { conversation: await getOwnConversation(services, id, caller) };
}

/** Returns a conversation of the caller by its id on the wire; throws 404 for anyone else's. */
export async function getOwnConversation({ store }: Pick<CompatServices, 'store'>, wired_id: string, caller: Caller) {
  const id = wired_id.startsWith(CONVERSATION_ID) ? wired_id.slice(CONVERSATION_ID.length) : '';
  const conversation = isUuid(id) ? await store.conversations.find(id, caller.key) : null;
  if (!conversation) throw notFound('conversation', wired_id);
  return conversation;
}

interface Input {
  continued: Continued;
  items: readonly CompatItem[];
  /** The number of files of the items. */
  files: number;
}

/** Prepares the items before the input of a response, and the items that its run adds to the conversation. */
export async function prepareContext(
  services: CompatServices,
  { continued: { conversation, previous }, items, files }: Input,
  caller: Caller,
): Promise<ParsedMessages & Pick<RunOrder, 'turn'>> {
  if (previous) return loadPreviousConversation(services, previous, caller);
  if (!conversation) return { text_messages: [], files: [] };
  const { store } = services;
  const { id: conversation_id, last_position } = conversation;
  await refuseClosed(services, conversation, JSON.stringify(items).length);
  const rows = await store.conversations.items(conversation_id, { limit: MOST_ITEMS, order: 'asc' });
  const before = parsePriorMessages(rows.map(toConversationItem) as CompatItem[], 'conversation');
  const turn = (attachments: readonly AttachedFile[], task_id: string): NewItems => {
    const inputs = toStoredItems(items, attachments.slice(attachments.length - files)).map(({ item }) => ({ id: uuid(), item }));
    return { conversation_id, last_position, items: [...inputs, { id: task_id, item: null }] };
  };
  return { text_messages: before.text_messages, files: before.files.map(({ file }) => ({ file, path: 'conversation' })), turn };
}

/** The most items of one conversation. Each prompt contains all of them. */
const MOST_ITEMS = 5_000;
const MOST_BYTES = 4 * 1024 * 1024;

/** Refuses to add characters to a conversation while a response continues it, or when the conversation is full. */
export async function refuseClosed(
  { store }: Pick<CompatServices, 'store'>,
  conversation: Conversation,
  adding: number,
): Promise<void> {
  if (await store.conversations.isContinued(conversation)) throw conversationLocked();
  const { items, bytes } = await store.conversations.size(conversation.id);
  if (items >= MOST_ITEMS || bytes + adding > MOST_BYTES) {
    const message = `A conversation may have ${MOST_ITEMS} items and ${MOST_BYTES} bytes; delete items, or create another one`;
    throw new AppError('invalid', message, { code: 'conversation_too_long', errors: [{ path: 'conversation', message }] });
  }
}

/** Returns the conversation of a response, with its answer, and the files that its run was given. */
async function loadPreviousConversation({ store }: CompatServices, id: string, caller: Caller): Promise<ParsedMessages> {
  const task_id = parseTaskId(id);
  const task = id.startsWith(RESPONSE_ID) && isUuid(task_id) ? await store.tasks.find(task_id) : null;
  if (task?.owner !== caller.key)
    throw createPreviousRefusal('not_found', 'previous_response_not_found', `No response with id ${id}`);
  if (!hasEnded(task))
    throw createPreviousRefusal(
      'conflict',
      'in_progress',
      `The response ${id} is still in progress; wait until it has completed`,
    );
  if (task.status !== 'completed')
    throw createPreviousRefusal(
      'invalid',
      'previous_response_failed',
      `The response ${id} has no answer to continue from: it was ${task.status}`,
    );
  const { prompt, prompt_parts: parts, attachments } = task;
  return {
    text_messages: [
      ...parseConversation(prompt, { parts, files: attachments.length }),
      { role: 'assistant', text: formatAnswer(task) },
    ],
    files: attachments.map(({ id: file_id }) => ({ file: { id: file_id }, path: 'previous_response_id' })),
  };
}

const createPreviousRefusal = (kind: 'not_found' | 'conflict' | 'invalid', code: string, message: string) =>
  new AppError(kind, message, { code, errors: [{ path: 'previous_response_id', message }] });

const MOST_REFERENCES = 100;
/** As long as the longest answer. A short request may not load more. */
const REFERRED_CHARACTERS = 8 * 1_024 ** 2;

/** Replaces references to answers of the caller by the answers. Throws if there is no such answer; other references stay. */
export async function loadReferences(
  { store }: Pick<CompatServices, 'store'>,
  items: readonly CompatItem[],
  caller: Caller,
): Promise<CompatItem[]> {
  const loaded_items = [...items];
  const answers = new Map<string, string>();
  let [references, characters] = [0, 0];
  const findAnswer = async (task_id: string): Promise<string | null> => {
    const task = isUuid(task_id) ? await store.tasks.find(task_id) : null;
    return task?.owner === caller.key && task.status === 'completed' ? formatAnswer(task) : null;
  };
  for (const [index, item] of items.entries()) {
    const { id } = item as { id?: unknown };
    if (getItemType(item) !== 'item_reference' || typeof id !== 'string' || !id.startsWith(MESSAGE_ID)) continue;
    const path = `input.${index}`;
    references += 1;
    if (references > MOST_REFERENCES)
      throw createContentError(path, `An input may refer to ${MOST_REFERENCES} items; send the content of the others`);
    const content = answers.get(id) ?? (await findAnswer(id.slice(MESSAGE_ID.length)));
    if (content === null)
      throw createContentError(path, `No answer with id ${id.slice(0, 100)}; send its content instead of the reference`);
    answers.set(id, content);
    characters += content.length;
    if (characters > REFERRED_CHARACTERS)
      throw createContentError(
        path,
        `An input may refer to answers of ${REFERRED_CHARACTERS} characters; leave out some references`,
      );
    loaded_items[index] = { type: 'message', role: 'assistant', content };
  }
  return loaded_items;
}
