import { isDeepStrictEqual } from 'node:util';
import { findReturnedType, plainFileName } from '../../domain/attachments.ts';
import { isTooDeep } from '../../domain/normalise.ts';
import { pickTexts } from '../../domain/outside.ts';
import { storable } from '../../domain/transcript.ts';
import type { ToolFile, ToolOutcome } from '../source.ts';
import { withoutDumps } from './failures.ts';

export interface CallResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/** The most characters of a result; a longer one would fill the model's window. */
const RESULT_CHARACTERS = 256 * 1024;
const MOST_PARTS = 10_000;
const MOST_FILES = 20;

interface Part {
  text: string;
  file?: ToolFile;
}

/** Returns a result as storable text, and its images, sounds and other files. The text names each file in brackets. */
export function toMcpOutcome({ content, structuredContent, isError }: CallResult): ToolOutcome {
  const failed = isError === true;
  const parts: Part[] = [];
  let count = 0;
  for (const one of Array.isArray(content) ? content.slice(0, MOST_PARTS) : []) {
    const part = toPart(one, count + 1);
    if (part.file) count += 1;
    parts.push(count > MOST_FILES ? { text: part.text } : part);
  }
  const texts = parts.map(({ text }) => text);
  if (isTooDeep(structuredContent)) texts.push('[structured content, nested too deep, not shown]');
  else if (structuredContent !== undefined && structuredContent !== null && !repeats(texts, structuredContent))
    texts.push(JSON.stringify(structuredContent));
  const files = parts.flatMap(({ file }) => file ?? []);
  const text = failed ? texts.map(withoutDumps).join('\n') : texts.join('\n');
  return { content: storable(truncate(text)) || '(no content)', failed, ...(files.length > 0 && { files }) };
}

function toPart(part: unknown, number: number): Part {
  const { type, text, data, mimeType, uri, name, description } = pickTexts(part);
  if (type === 'text') return { text: text ?? '' };
  if (type === 'image' || type === 'audio') return toFilePart({ kind: type, base64: data, declared: mimeType, number });
  if (type === 'resource_link') {
    const facts = [name ? `${name}: ${uri ?? ''}` : (uri ?? ''), mimeType, description].filter(Boolean);
    return { text: `[resource ${facts.join(', ')}]` };
  }
  const { resource } = (part ?? {}) as { resource?: unknown };
  if (type === 'resource' && resource) {
    const contents = pickTexts(resource);
    const head = `resource ${contents.uri ?? ''}`;
    if (contents.text !== undefined)
      return { text: `[${head}${contents.mimeType ? `, ${contents.mimeType}` : ''}]\n${contents.text}` };
    return toFilePart({ kind: head, base64: contents.blob, declared: contents.mimeType, number, uri: contents.uri });
  }
  return { text: `[${type ?? 'unknown'} content, not shown]` };
}

interface SentFile {
  /** What the file is: an image, a sound, a resource with its address. */
  kind: string;
  base64: string | undefined;
  declared: string | undefined;
  number: number;
  uri?: string | undefined;
}

function toFilePart({ kind, base64 = '', declared = '', number, uri }: SentFile): Part {
  const type = declared || 'unknown type';
  if (base64 === '') return { text: `[${kind}: ${type}, empty]` };
  const content = decodeBase64(base64);
  if (!content) return { text: `[${kind}: ${type}, not valid base64]` };
  const media_type = findReturnedType(content, declared);
  const last = uri && plainFileName(decodePath(uri));
  const name = last && last !== 'file' ? last : `${kind.split(' ')[0]}-${number}.${findEnding(media_type)}`;
  return { text: `[${kind}, ${name}: ${media_type}, ${content.length} bytes]`, file: { name, media_type, content } };
}

/** Decodes base64, also as a data URL and in the alphabet of URLs; returns null for anything else. */
function decodeBase64(text: string): Buffer | null {
  const bare = text.replace(/^data:[^,]{0,200};base64,/i, '').replaceAll(/\s+/g, '');
  const content = Buffer.from(bare, 'base64');
  return content.length > 0 && /^[\w+/-]*={0,2}$/.test(bare) ? content : null;
}

/** The endings of names whose type has another name. */
const ENDINGS: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'text/plain': 'txt',
};

const findEnding = (media_type: string): string => {
  const subtype = media_type.split('/')[1]!;
  return ENDINGS[media_type] ?? (/^[a-z0-9]{1,5}$/.test(subtype) ? subtype : 'bin');
};

const decodePath = (uri: string): string => {
  try {
    return decodeURIComponent(uri.split(/[?#]/)[0]!);
  } catch {
    return uri;
  }
};

/**
 * True if texts repeat the structured content, as servers do for older clients: as JSON, or its only field. FastMCP puts whatever
 * is not an object into a field `result`, and writes each entry of a list as a separate text.
 */
function repeats(texts: readonly string[], value: unknown): boolean {
  if (texts.some((text) => says(text, value))) return true;
  const [only, ...others]: unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [];
  if (only === undefined || others.length > 0) return false;
  if (texts.some((text) => says(text, only))) return true;
  return Array.isArray(only) && only.length === texts.length && only.every((entry, index) => says(texts[index]!, entry));
}

/** True if a text is a value, or its JSON. */
function says(text: string, value: unknown): boolean {
  if (text === value) return true;
  try {
    return isDeepStrictEqual(JSON.parse(text), value);
  } catch {
    return false;
  }
}

const truncate = (text: string, limit = RESULT_CHARACTERS): string =>
  text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}\n[cut here: ${text.length - limit} more characters]`;
