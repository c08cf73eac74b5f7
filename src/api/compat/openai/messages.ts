import type { CompatItem, CompatMessage } from '../../../contracts/compat.ts';
import type { SaidMessage } from '../../../domain/conversation.ts';
import { AppError } from '../../../domain/errors.ts';

/** The text of a message; null if it contains something other than text, such as an image. */
function contentText(content: CompatMessage['content']): string | null {
  if (typeof content === 'string') return content;
  const parts = content ?? [];
  if (parts.some(({ text, refusal }) => text === undefined && refusal === undefined)) return null;
  return parts.map(({ text, refusal }) => text ?? refusal).join('');
}

interface AskedCall {
  name?: unknown;
  arguments?: unknown;
}

const callText = ({ name, arguments: args }: AskedCall) => `[called ${name} with ${args}]`;

/** An earlier message, call or result, as text. */
function saidBy(item: CompatItem | CompatMessage): { role: string; text: string | null } {
  const { type, role, content, output, tool_calls } = item as Record<string, unknown> & Pick<CompatItem, 'content'>;
  if (type === 'function_call') return { role: 'assistant', text: callText(item as AskedCall) };
  if (type === 'function_call_output') return { role: 'tool', text: contentText(output as CompatItem['content']) };
  if (typeof role !== 'string') return { role: 'user', text: null };
  const calls = Array.isArray(tool_calls)
    ? tool_calls.map((call: { function?: AskedCall }) => callText(call.function ?? {}))
    : [];
  const text = contentText(content);
  return { role, text: text === null ? null : [text, ...calls].filter((part) => part !== '').join('\n') };
}

/** The messages of a request as text. Refuses anything else, and a conversation that ends with nothing. */
export function saidIn(items: readonly (CompatItem | CompatMessage)[]): SaidMessage[] {
  const said = items.map((item) => {
    const { role, text } = saidBy(item);
    if (text === null) throw unsupportedContent('Only text can be sent to an agent');
    return { role, text };
  });
  if (!said.at(-1)?.text.trim()) throw unsupportedContent('The last message is empty');
  return said;
}

const unsupportedContent = (message: string) => new AppError('unprocessable', message, { code: 'unsupported_content' });
