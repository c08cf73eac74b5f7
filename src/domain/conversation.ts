import { conflict } from './errors.ts';

/** A message of a conversation. A message with the role `instructions` applies to its own turn only. */
export interface TextMessage {
  role: string;
  text: string;
  /**
   * The number of files that came with the message; absent: none. The files of a conversation are numbered in the order of its
   * messages.
   */
  files?: number;
}

/** The messages that a prompt was made of: each one's role, length, and number of files if it has any. */
export type PromptParts = [role: string, length: number, files?: number][];

const formatOpening = ({ role, files }: Pick<NumberedMessage, 'role' | 'files'>) =>
  `<message role="${role === INSTRUCTIONS ? 'system' : role}"${files.length > 0 ? ` files="${files.join(' ')}"` : ''}>\n`;
const CLOSING = '\n</message>';
const BETWEEN = '\n';
const BEFORE_LAST = '\n\n';

export const INSTRUCTIONS = 'instructions';

interface NumberedMessage {
  role: string;
  /** The numbers of the message's files. */
  files: number[];
}

/** Returns a message of a conversation as a part of a text. What it says cannot end it and begin another one. */
export const formatMessage = ({ role, text }: Pick<TextMessage, 'role' | 'text'>): string =>
  `${formatOpening({ role, files: [] })}${text.replaceAll(/<(\/?message\b)/gi, '&lt;$1')}${CLOSING}`;

/** Numbers the files of a conversation, from 1. */
function numberFiles<M extends { role: string; files?: number | undefined }>(messages: readonly M[]) {
  let last = 0;
  return messages.map(({ files = 0, ...message }) => ({ ...message, files: Array.from({ length: files }, () => ++last) }));
}

/** Turns a conversation into one prompt: the last message, with the earlier ones as context. */
export function buildPrompt(messages: readonly TextMessage[]): { prompt: string; parts: PromptParts } {
  const parts = messages.map(({ role, text, files }): PromptParts[number] =>
    files ? [role, text.length, files] : [role, text.length],
  );
  const last = messages.at(-1)!.text;
  const before = numberFiles(messages.slice(0, -1)).map((message) => `${formatOpening(message)}${message.text}${CLOSING}`);
  return { prompt: before.length > 0 ? `${before.join(BETWEEN)}${BEFORE_LAST}${last}` : last, parts };
}

/** The recorded metadata of a prompt. */
interface PromptRecord {
  parts: PromptParts | null;
  /** The number of files of the prompt; absent: none. */
  files?: number;
}

/** Returns the conversation that a prompt was made of, without instructions. A prompt without recorded parts is one message. */
export function parseConversation(prompt: string, { parts, files = 0 }: PromptRecord): TextMessage[] {
  const messages: TextMessage[] = [];
  let at = 0;
  const numbered_parts = numberFiles((parts ?? []).map(([role, length, files]) => ({ role, length, files })));
  for (const [index, part] of numbered_parts.entries()) {
    const is_last = index === numbered_parts.length - 1;
    const start = at + (is_last ? 0 : formatOpening(part).length);
    messages.push({ role: part.role, text: prompt.slice(start, start + part.length), ...toFilesField(part.files.length) });
    const after = index === numbered_parts.length - 2 ? BEFORE_LAST : BETWEEN;
    at = start + part.length + (is_last ? 0 : CLOSING.length + after.length);
  }
  const whole = messages.length > 0 && at === prompt.length;
  return whole ? messages.filter(({ role }) => role !== INSTRUCTIONS) : [{ role: 'user', text: prompt, ...toFilesField(files) }];
}

const toFilesField = (files: number) => (files > 0 ? { files } : {});

export const conversationLocked = () =>
  conflict(
    'A response of this conversation is in progress, or items were added at the same moment; wait until it has ended and repeat the request',
    'conversation_locked',
  );
