import { isTooDeep } from '../../domain/normalise.ts';
import { pickTexts } from '../../domain/outside.ts';
import { storable } from '../../domain/transcript.ts';
import type { ToolOutcome } from '../source.ts';

export interface CallResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/** The most characters of a result; a longer one would fill the model's window. */
const RESULT_CHARACTERS = 256 * 1024;
const MOST_PARTS = 10_000;

/** Returns a result as storable text: content that a model cannot read is described in brackets. */
export function toMcpOutcome({ content, structuredContent, isError }: CallResult): ToolOutcome {
  const parts = (Array.isArray(content) ? content.slice(0, MOST_PARTS) : []).map(toPartText);
  if (isTooDeep(structuredContent)) parts.push('[structured content, nested too deep, not shown]');
  else if (structuredContent !== undefined && !isAmong(parts, structuredContent)) parts.push(JSON.stringify(structuredContent));
  return { content: storable(truncate(parts.join('\n'))) || '(no content)', failed: isError === true };
}

function toPartText(part: unknown): string {
  const { type, text, data, mimeType, uri, name, description } = pickTexts(part);
  if (type === 'text') return text ?? '';
  if (type === 'image' || type === 'audio')
    return `[${type}: ${mimeType ?? 'unknown type'}, ${countBytes(data)} bytes, not shown]`;
  if (type === 'resource_link')
    return `[resource ${name ?? ''}: ${uri ?? ''}${mimeType ? `, ${mimeType}` : ''}${description ? `, ${description}` : ''}]`;
  const { resource } = (part ?? {}) as { resource?: unknown };
  if (type === 'resource' && resource) {
    const contents = pickTexts(resource);
    const head = `[resource ${contents.uri ?? ''}${contents.mimeType ? `, ${contents.mimeType}` : ''}`;
    return contents.text === undefined ? `${head}, ${countBytes(contents.blob)} bytes, not shown]` : `${head}]\n${contents.text}`;
  }
  return `[${type ?? 'unknown'} content, not shown]`;
}

const countBytes = (base64 = '') =>
  Math.floor(((base64.endsWith('==') ? base64.length - 2 : base64.endsWith('=') ? base64.length - 1 : base64.length) * 3) / 4);

/** True if structured content repeats a text. Servers repeat it for older clients, either as JSON or as one of its fields. */
function isAmong(texts: readonly string[], value: unknown): boolean {
  const fields: unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [];
  const json = JSON.stringify(value);
  return texts.some((text) => fields.includes(text) || compact(text) === json);
}

function compact(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return null;
  }
}

export const truncate = (text: string, limit = RESULT_CHARACTERS): string =>
  text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}\n[cut here: ${text.length - limit} more characters]`;
