import type { CompatItem } from '../../../contracts/compat-requests.ts';
import type { AttachedFile } from '../../../domain/attachments.ts';
import type { ConversationItemRow, StoredItem } from '../../../store/runs/conversations.ts';
import { formatAnswer } from '../runs.ts';
import { formatToolOutput } from './client-tools.ts';
import { FILE_PARTS } from './files.ts';
import { parseMessages } from './messages.ts';
import { MESSAGE_ID } from './replies.ts';
import { createContentError } from './response-items.ts';

const ROLES = ['user', 'assistant', 'system', 'developer'];

/** Returns the files of items that a client adds. Refuses items that an agent cannot be given. */
export function checkItems(items: readonly CompatItem[], param: string) {
  for (const [index, item] of items.entries()) {
    const path = `${param}.${index}`;
    const { type = 'message', role, call_id } = item;
    if (type === 'function_call' || type === 'function_call_output') {
      if (typeof call_id !== 'string') throw createContentError(`${path}.call_id`, `An item of type ${type} has a call_id`);
    } else if (type !== 'message')
      throw createContentError(path, `Items of type ${type} are not supported; send messages, function calls and their results`);
    else if (!ROLES.includes(role!))
      throw createContentError(`${path}.role`, `The role of a message is one of ${ROLES.join(', ')}`);
  }
  return parseMessages(items, param).files;
}

interface StoredWithFiles {
  item: StoredItem;
  file_ids: string[];
}

/** Converts items to their stored form, with the ids of their files instead of the content. The files are given in order. */
export function toStoredItems(items: readonly CompatItem[], files: readonly AttachedFile[]): StoredWithFiles[] {
  const remaining_files = [...files];
  return items.map((item) => {
    const before = remaining_files.length;
    const stored_item = toStoredItem(item, remaining_files);
    return {
      item: stored_item,
      file_ids: files.slice(files.length - before, files.length - remaining_files.length).map(({ id }) => id),
    };
  });
}

function toStoredItem(item: CompatItem, remaining_files: AttachedFile[]): StoredItem {
  const { type = 'message', role = 'user', content, name, arguments: args, call_id, output } = item;
  const status = 'completed';
  if (type === 'function_call') return { type, call_id, name: String(name), arguments: String(args), status };
  if (type === 'function_call_output') return { type, call_id, output: formatToolOutput(output), status };
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  return { type: 'message', role, status, content: parts.map((part) => toStoredPart(part, role, remaining_files)) };
}

function toStoredPart(
  { type, text, refusal }: { type: string; text?: string | undefined; refusal?: string | undefined },
  role: string,
  remaining_files: AttachedFile[],
) {
  const file = FILE_PARTS.includes(type) ? remaining_files.shift() : undefined;
  if (file && (type === 'image_url' || type === 'input_image'))
    return { type: 'input_image', file_id: file.id, image_url: null, detail: 'auto' };
  if (file) return { type: 'input_file', file_id: file.id, filename: file.name };
  if (text === undefined) return { type: 'refusal', refusal: refusal ?? '' };
  return role === 'assistant' ? toOutputText(text) : { type: 'input_text', text };
}

const toOutputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

const PREFIXES: Record<string, string> = { function_call: 'fc_', function_call_output: 'fco_' };

/** Returns an item of a conversation as clients get it. An answer has the id of the message in its response. */
export function toConversationItem({ id, item, task }: ConversationItemRow) {
  const answer = {
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [toOutputText(formatAnswer({ response: task?.response ?? null }))],
  };
  const stored_item = (item ?? answer) as StoredItem;
  return { ...stored_item, id: `${PREFIXES[stored_item.type] ?? MESSAGE_ID}${id}` };
}

export const parseItemId = (id: string) => id.replace(/^(msg|fc|fco)_/, '');
