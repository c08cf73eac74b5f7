import type { CompatMessage } from '../../../contracts/compat.ts';

/** The text of a message; null if it contains something other than text, such as an image. */
function promptText({ content }: CompatMessage): string | null {
  if (typeof content === 'string') return content;
  const parts = content ?? [];
  if (parts.some(({ text, refusal }) => text === undefined && refusal === undefined)) return null;
  return parts.map(({ text, refusal }) => text ?? refusal).join('');
}

/** Turns a conversation into one prompt: the last message, with the earlier ones as context. Null if any message is not text. */
export function promptOf(messages: CompatMessage[]): string | null {
  const read = messages.map((message) => ({ role: message.role, text: promptText(message) }));
  if (read.some(({ text }) => text === null)) return null;
  const last = read.at(-1)?.text ?? '';
  if (read.length === 1) return last;
  const before = read.slice(0, -1).map(({ role, text }) => `<message role="${role}">\n${text}\n</message>`);
  return `${before.join('\n')}\n\n${last}`;
}
