import { pickTexts, truncate } from '../../domain/outside.ts';
import { storable } from '../../domain/transcript.ts';
import type { McpConnection } from './connection.ts';
import { McpRefused } from './failures.ts';
import { toMcpOutcome } from './result.ts';

/** A prompt that a server offers, with what has to be filled in. */
export interface McpPrompt {
  name: string;
  title: string | null;
  description: string;
  arguments: { name: string; description: string; required: boolean }[];
}

const MOST_PAGES = 20;
const MOST_PROMPTS = 500;
const MOST_ARGUMENTS = 50;

/** Lists the prompts of a server; a server may have none. */
export async function listPrompts({ request }: McpConnection, signal: AbortSignal): Promise<McpPrompt[]> {
  const found: McpPrompt[] = [];
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES && found.length < MOST_PROMPTS; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await request({ method: 'prompts/list', params, capability: 'prompts' }, signal);
    const { prompts, nextCursor } = (answer ?? {}) as { prompts?: unknown; nextCursor?: unknown };
    found.push(...toList(prompts).flatMap(readPrompt));
    if (typeof nextCursor !== 'string' || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found.slice(0, MOST_PROMPTS);
}

/** Returns a prompt; none for what has no name. */
function readPrompt(value: unknown): McpPrompt[] {
  const { name, title = null, description = '' } = pickTexts(value);
  if (!name || storable(name) !== name) return [];
  const fields = toList((value as { arguments?: unknown }).arguments).slice(0, MOST_ARGUMENTS);
  const args = fields.flatMap((field) => {
    const { name: field_name, description: field_description = '' } = pickTexts(field);
    const required = (field as { required?: unknown }).required === true;
    return field_name ? [{ name: field_name, description: storable(truncate(field_description)), required }] : [];
  });
  return [{ name, title: title && storable(truncate(title)), description: storable(truncate(description)), arguments: args }];
}

interface FilledPrompt {
  name: string;
  arguments: Record<string, string>;
}

/** Has a server fill in a prompt, and returns it as one text. Messages of an assistant are marked. */
export async function fillPrompt({ request }: McpConnection, params: FilledPrompt, signal: AbortSignal): Promise<string> {
  const result = await request({ method: 'prompts/get', params, capability: 'prompts' }, signal);
  if (!result) throw new McpRefused('it has no prompts', { unexecuted: true });
  const { messages, resultType } = result as { messages?: unknown; resultType?: unknown };
  if (resultType === 'input_required')
    throw new McpRefused('it asks a question first, which is possible only during a run', { unexecuted: true });
  const texts = toList(messages).map((message) => {
    const { role, content } = message as { role?: unknown; content?: unknown };
    const text = toMcpOutcome({ content: Array.isArray(content) ? content : [content] }).content;
    return role === 'assistant' ? `Assistant: ${text}` : text;
  });
  return texts.join('\n\n');
}

const toList = (value: unknown): object[] =>
  (Array.isArray(value) ? value : []).filter((one) => typeof one === 'object' && one !== null);
