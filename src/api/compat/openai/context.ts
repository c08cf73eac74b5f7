import type { CompatItem, ResponseRequest } from '../../../contracts/compat-requests.ts';
import { isTextFile } from '../../../domain/attachments.ts';
import { conversationLocked } from '../../../domain/conversation.ts';
import { AppError, notFound } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/uuid.ts';
import type { Thread } from '../../../generated/prisma/client.ts';
import type { Caller } from '../../../identity/caller.ts';
import type { StoredItem } from '../../../store/runs/conversations.ts';
import type { ImportedTurn } from '../../../store/runs/imported-turns.ts';
import type { GivenBefore } from '../../../temporal/start/new-task.ts';
import { type CompatServices, type CompatTask, formatAnswer, hasEnded, type Place } from '../runs.ts';
import { listFileIds, toImportedTurns } from './given-turns.ts';
import { CONVERSATION_ID, MESSAGE_ID, parseTaskId, RESPONSE_ID } from './replies.ts';
import { createContentError, getItemType } from './response-items.ts';

/** The response or conversation that a request continues. */
interface Continued {
  conversation?: Thread | undefined;
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

/** Returns how a run takes its place among the turns of a conversation, once its workflow is known. */
export async function findPlace(services: CompatServices, { conversation, previous }: Continued, caller: Caller): Promise<Place> {
  if (previous) return placeAfter(services, await getPrevious(services, previous, caller));
  // It is the first turn of a thread that begins if another response continues it.
  if (!conversation) return async () => ({ follows: { task_id: null, turn: 0 } });
  await refuseClosed(services, conversation, 0);
  return async (target) => {
    const given_before = await loadWaitingItems(services, conversation.id, { target, caller });
    return { thread_id: conversation.id, in_conversation: true, given_before };
  };
}

/** Follows a response next to its lane, so that two responses that follow it do not wait for each other. */
function placeAfter({ store }: CompatServices, { id: task_id, ...task }: CompatTask): Place {
  const { thread_id, conversation_id } = task;
  const turn = task.thread_turn ?? 1;
  const place = { follows: { task_id, turn }, beside_lane: true } as const;
  // A conversation has only the responses that name it.
  if (thread_id !== null && thread_id === conversation_id) return async () => place;
  return async () => ({ ...place, thread_id: thread_id ?? (await store.threads.beginAt(task_id)) });
}

/** Loads the items that were added since the last response, which become turns once guardrails have accepted them. */
async function loadWaitingItems(
  { store }: Pick<CompatServices, 'store'>,
  conversation_id: string,
  { target, caller }: { target: Parameters<Place>[0]; caller: Caller },
): Promise<GivenBefore | undefined> {
  const waiting = await store.conversations.listWaiting(conversation_id, { order: 'asc' });
  if (waiting.length === 0) return undefined;
  const given = waiting.map(({ id, item }) => ({ id, item: item as StoredItem }));
  const files = await store.attachments.loadOwned(listFileIds(given), caller.key);
  const turns = toImportedTurns(given, files);
  const ids = waiting.map(({ id }) => id);
  return {
    text: turns.flatMap(({ messages }) => messages.map(formatForGuardrails)).join('\n\n'),
    text_files: files.filter(isTextFile),
    write: () => store.conversations.take(conversation_id, ids, { turns, ...target }),
  };
}

const formatForGuardrails = ({ content, tool_calls }: ImportedTurn['messages'][number]) =>
  [content, ...(tool_calls ?? []).map(({ name, arguments: args }) => `${name} ${args}`)].join('\n');

/** The most items that wait for a response. */
const MOST_ITEMS = 5_000;
const MOST_BYTES = 4 * 1024 * 1024;

/** Refuses to continue a conversation, or to add characters, while a response continues it; and to add more than may wait. */
export async function refuseClosed(
  { store }: Pick<CompatServices, 'store'>,
  { id, active_task_id }: Thread,
  adding: number,
): Promise<void> {
  if (active_task_id !== null) throw conversationLocked();
  if (adding === 0) return;
  const { items, bytes } = await store.conversations.size(id);
  if (items >= MOST_ITEMS || bytes + adding > MOST_BYTES) {
    const message = `${MOST_ITEMS} items and ${MOST_BYTES} bytes may wait for the next response of a conversation; create that, or delete items`;
    throw new AppError('invalid', message, { code: 'conversation_too_long', errors: [{ path: 'conversation', message }] });
  }
}

/** Returns a response of the caller that has completed. */
async function getPrevious({ store }: CompatServices, id: string, caller: Caller): Promise<CompatTask> {
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
  return task;
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
