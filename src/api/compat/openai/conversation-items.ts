import type { CompatItem } from '../../../contracts/compat-requests.ts';
import type { AttachedFile } from '../../../domain/attachments.ts';
import { parseConversation } from '../../../domain/conversation.ts';
import type { ConversationMessage, GivenItem, StoredItem } from '../../../store/runs/conversations.ts';
import { formatAnswer } from '../runs.ts';
import { formatCallId, formatToolOutput } from './client-tools.ts';
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
  if (file) return toFilePart(file, type === 'image_url' || type === 'input_image');
  if (text === undefined) return { type: 'refusal', refusal: refusal ?? '' };
  return role === 'assistant' ? toOutputText(text) : { type: 'input_text', text };
}

const toFilePart = ({ id: file_id, name: filename }: AttachedFile, is_image: boolean) =>
  is_image ? { type: 'input_image', file_id, image_url: null, detail: 'auto' } : { type: 'input_file', file_id, filename };

const toOutputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

const PREFIXES: Record<string, string> = { function_call: 'fc_', function_call_output: 'fco_' };

type WiredItem = StoredItem & { id: string };

/** Returns an item that a client gave as clients get it. */
export const toGivenItem = ({ id, item }: GivenItem): WiredItem => ({ ...item, id: `${PREFIXES[item.type] ?? MESSAGE_ID}${id}` });

/** Returns a message of a turn as the items that clients get. Their ids name the run; that of an answer is the one in its response. */
export function toItems(message: ConversationMessage): WiredItem[] {
  const { task_id, step, position, role, kind, content, call_id, tool_calls, extra, answer } = message;
  if (extra) return extra.items.map(toGivenItem);
  if (kind === 'prompt' && step === 0 && position === 0) return toInputItems(message);
  if (role === 'tool')
    return [
      {
        id: `fco_${task_id}_${call_id}`,
        type: 'function_call_output',
        call_id: formatCallId(task_id, call_id!),
        output: content,
        status: 'completed',
      },
    ];
  const text = answer ? formatAnswer(answer) : content;
  const id = answer ? `${MESSAGE_ID}${task_id}` : `${MESSAGE_ID}${task_id}_${step}_${position}`;
  const calls = (tool_calls ?? []).map((call) => ({
    id: `fc_${task_id}_${call.call_id}`,
    type: 'function_call',
    call_id: formatCallId(task_id, call.call_id),
    name: call.name,
    arguments: call.arguments,
    status: 'completed',
  }));
  return [...(text === '' ? [] : [toMessageItem({ id, role, text })]), ...calls];
}

const toMessageItem = (
  { id, role, text }: { id: string; role: string; text: string },
  files: readonly AttachedFile[] = [],
): WiredItem => ({
  id,
  type: 'message',
  role,
  status: 'completed',
  content: [
    ...(text === '' ? [] : [role === 'assistant' ? toOutputText(text) : { type: 'input_text', text }]),
    ...files.map((file) => toFilePart(file, file.media_type.startsWith('image/'))),
  ],
});

/** Returns the messages of an input, each with its files. They are one message of the run. */
function toInputItems({ task_id, content, prompt_parts: parts, attachments }: ConversationMessage): WiredItem[] {
  const remaining_files = [...(attachments ?? [])];
  return parseConversation(content, { parts, files: remaining_files.length }).map(({ role, text, files = 0 }, index) =>
    toMessageItem({ id: `${MESSAGE_ID}${task_id}_0_${index}`, role, text }, remaining_files.splice(0, files)),
  );
}

/** Returns the id that an item's id contains: of a run, or the one under which it was given; null: it is not the id of an item. */
export const parseItemId = (id: string): string | null => /^(?:msg|fc|fco)_(.{36})(?:_|$)/.exec(id)?.[1] ?? null;
