import type { ToolOutcome } from '../source.ts';

interface Part {
  type?: string;
  text?: string;
  data?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  description?: string;
  resource?: { uri?: string; mimeType?: string; text?: string; blob?: string };
}

export interface CallResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/** A longer result would fill the model's window. */
const RESULT_CHARACTERS = 256 * 1024;

/** A result as text: content that a model cannot read is described in brackets. */
export function mcpOutcome({ content, structuredContent, isError }: CallResult): ToolOutcome {
  const parts = (Array.isArray(content) ? (content as Part[]) : []).map(partText);
  if (structuredContent !== undefined && !parts.some((text) => isSame(text, structuredContent)))
    parts.push(JSON.stringify(structuredContent));
  return { content: cut(parts.join('\n')) || '(no content)', failed: isError === true };
}

function partText(part: Part): string {
  const { type, text, data, mimeType, resource } = part;
  if (type === 'text') return text ?? '';
  if (type === 'image' || type === 'audio') return `[${type}: ${mimeType ?? 'unknown type'}, ${bytesOf(data)} bytes, not shown]`;
  if (type === 'resource_link') {
    const { uri, name, description } = part;
    return `[resource ${name ?? ''}: ${uri ?? ''}${mimeType ? `, ${mimeType}` : ''}${description ? `, ${description}` : ''}]`;
  }
  if (type === 'resource' && resource) {
    const head = `[resource ${resource.uri ?? ''}${resource.mimeType ? `, ${resource.mimeType}` : ''}`;
    return resource.text === undefined ? `${head}, ${bytesOf(resource.blob)} bytes, not shown]` : `${head}]\n${resource.text}`;
  }
  return `[${type ?? 'unknown'} content, not shown]`;
}

const bytesOf = (base64 = '') =>
  Math.floor(((base64.endsWith('==') ? base64.length - 2 : base64.endsWith('=') ? base64.length - 1 : base64.length) * 3) / 4);

/** Servers repeat structured content as text for older clients: as JSON, or one of its fields. */
function isSame(text: string, value: unknown): boolean {
  if (typeof value === 'object' && value !== null && Object.values(value).includes(text)) return true;
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

export const cut = (text: string, limit = RESULT_CHARACTERS): string =>
  text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}\n[cut here: ${text.length - limit} more characters]`;
