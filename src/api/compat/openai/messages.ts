import type { CompatMessage } from '../../../contracts/compat.ts';
import type { SaidMessage } from '../../../domain/conversation.ts';
import { AppError } from '../../../domain/errors.ts';

/** The text of a message; null if it contains something other than text, such as an image. */
function messageText({ content }: CompatMessage): string | null {
  if (typeof content === 'string') return content;
  const parts = content ?? [];
  if (parts.some(({ text, refusal }) => text === undefined && refusal === undefined)) return null;
  return parts.map(({ text, refusal }) => text ?? refusal).join('');
}

/** The messages of a request as text. Refuses anything else, and a conversation that ends with nothing. */
export function saidIn(messages: readonly CompatMessage[]): SaidMessage[] {
  const said = messages.map((message) => {
    const text = messageText(message);
    if (text === null) throw unsupportedContent('Only text can be sent to an agent');
    return { role: message.role, text };
  });
  if (!said.at(-1)?.text.trim()) throw unsupportedContent('The last message is empty');
  return said;
}

const unsupportedContent = (message: string) => new AppError('unprocessable', message, { code: 'unsupported_content' });
