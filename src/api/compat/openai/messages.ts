import type { CompatItem, CompatMessage } from '../../../contracts/compat-requests.ts';
import type { TextMessage } from '../../../domain/conversation.ts';
import { formatToolOutput, isParts } from './client-tools.ts';
import { FILE_PARTS, type PlacedFile, parseFilePart } from './files.ts';
import { createContentError, type PlacedItem, placeItems } from './response-items.ts';

/** The text and the files of a message. */
interface Content {
  text: string;
  files: PlacedFile[];
}

type Parts = CompatMessage['content'];

/** Returns the text and the files of the message at a path of the request. */
function parseContent(content: Parts, path: string): Content {
  if (typeof content === 'string') return { text: content, files: [] };
  const parts = content ?? [];
  const files = parts.flatMap((part, index) => {
    const is_text = part.text !== undefined || part.refusal !== undefined;
    if (is_text && !FILE_PARTS.includes(part.type)) return [];
    const place = `${path}.${index}`;
    return [{ file: parseFilePart(part, place), path: place }];
  });
  return { text: parts.map(({ text, refusal }) => text ?? refusal ?? '').join(''), files };
}

interface AskedCall {
  name?: unknown;
  arguments?: unknown;
}

const formatCall = ({ name, arguments: args }: AskedCall) => `[called ${name} with ${args}]`;

/** Returns an earlier message, call or result as text, and its files. */
function parseMessage(item: CompatItem | CompatMessage, path: string): Content & { role: string } {
  const { type, role, content, output, tool_calls } = item as Record<string, unknown> & Pick<CompatItem, 'content'>;
  if (type === 'function_call') return { role: 'assistant', text: formatCall(item as AskedCall), files: [] };
  if (type === 'function_call_output') {
    const parts = isParts(output) ? (output as Parts) : formatToolOutput(output);
    return withoutFiles('tool', parseContent(parts, `${path}.output`));
  }
  if (typeof role !== 'string')
    throw createContentError(
      path,
      type && type !== 'message' ? `Items of type ${type} cannot be sent to an agent` : 'A message has a `role`, such as user',
    );
  const { text, files } = parseContent(content, `${path}.content`);
  const calls = Array.isArray(tool_calls)
    ? tool_calls.map((call: { function?: AskedCall }) => formatCall(call.function ?? {}))
    : [];
  const message = { text: [text, ...calls].filter((part) => part !== '').join('\n'), files };
  return role === 'user' ? { role, ...message } : withoutFiles(role, message);
}

function withoutFiles(role: string, { text, files: [first] }: Content): Content & { role: string } {
  if (first) throw createContentError(first.path, `Images and files are taken from the user, not in a message of role ${role}`);
  return { role, text, files: [] };
}

/** Messages as text, and their files in order. */
interface ParsedMessages {
  text_messages: TextMessage[];
  files: PlacedFile[];
}

/** Parses the messages before a prompt. */
export const parsePriorMessages = (items: readonly CompatItem[], param: string): ParsedMessages =>
  collectMessages(placeItems(items, param).map(({ item, path }) => parseMessage(item, path)));

/** Parses the messages of a request, of which the last is the prompt. `param` is the parameter that contained them. */
export const parseMessages = (items: readonly (CompatItem | CompatMessage)[], param: string): ParsedMessages =>
  parsePlacedMessages(placeItems(items, param));

/** Parses messages, of which the last is the prompt, from their places in a request. */
export function parsePlacedMessages(items: readonly PlacedItem<CompatItem | CompatMessage>[]): ParsedMessages {
  const read = items.map(({ item, path }) => parseMessage(item, path));
  const last = read.at(-1);
  if (last && !last.text.trim()) {
    if (last.files.length === 0) throw createContentError(items.at(-1)!.path, 'The last message is empty');
    last.text = last.files.length > 1 ? '[see the files]' : '[see the file]';
  }
  return collectMessages(read);
}

function collectMessages(read: readonly (Content & { role: string })[]): ParsedMessages {
  return {
    text_messages: read.map(({ role, text, files }) => ({ role, text, ...(files.length > 0 ? { files: files.length } : {}) })),
    files: read.flatMap(({ files }) => files),
  };
}
