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
/** The longest name of a prompt or of an argument. A name is sent back as it is, so a longer one is left out, not cut. */
const NAME_CHARACTERS = 256;

/** Lists the prompts of a server; a server may have none. */
export async function listPrompts({ request }: McpConnection, signal: AbortSignal): Promise<McpPrompt[]> {
  const found: McpPrompt[] = [];
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES && found.length < MOST_PROMPTS; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await request({ method: 'prompts/list', params, capability: 'prompts' }, signal);
    const { prompts, nextCursor } = (answer ?? {}) as { prompts?: unknown; nextCursor?: unknown };
    found.push(...toList(prompts, MOST_PROMPTS - found.length).flatMap(readPrompt));
    if (typeof nextCursor !== 'string' || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found;
}

const isName = (name: string | undefined): name is string =>
  name !== undefined && name !== '' && name.length <= NAME_CHARACTERS && storable(name) === name;

/** Returns a prompt; none for what has no usable name. Arguments without one are left out. */
function readPrompt(value: unknown): McpPrompt[] {
  const { name, title = null, description = '' } = pickTexts(value);
  if (!isName(name)) return [];
  const fields = toList((value as { arguments?: unknown }).arguments, MOST_ARGUMENTS);
  const args = fields.flatMap((field) => {
    const { name: field_name, description: field_description = '' } = pickTexts(field);
    const required = (field as { required?: unknown }).required === true;
    return isName(field_name) ? [{ name: field_name, description: storable(truncate(field_description)), required }] : [];
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

/** Returns the objects among the first values of a list. */
const toList = (value: unknown, most = Number.POSITIVE_INFINITY): object[] =>
  (Array.isArray(value) ? value : []).slice(0, most).filter((one) => typeof one === 'object' && one !== null);
