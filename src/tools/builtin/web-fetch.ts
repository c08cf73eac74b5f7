import { getReason } from '../../domain/reason.ts';
import type { ToolCall, ToolOutcome } from '../source.ts';
import type { Builtin } from './tool.ts';

export const webFetchTool: Builtin<WebPorts> = {
  spec: {
    name: 'web_fetch',
    description: 'Fetches a web page and returns its readable text. Long pages come in parts, with offset.',
    effect: 'read',
    parameters: {
      type: 'object',
      properties: {
        url: { type: 'string', description: 'An http or https address' },
        offset: { type: 'integer', minimum: 0, description: 'Characters to skip; default 0' },
      },
      required: ['url'],
    },
  },
  works_on: 'web',
  at_vendor: true,
  create: webFetch,
};

export interface WebPorts {
  /** A guarded fetch, which refuses addresses that are not public. */
  fetch: typeof globalThis.fetch;
  /** Returns the text of a page, parsed in another process. Rejects with the rest of a sentence. */
  readPage: ReadPage;
}

export type ReadPage = (html: string, owner: string) => Promise<string>;

const TIMEOUT_MS = 30_000;
const BODY_BYTES = 5 * 1024 * 1024;
const PART_CHARACTERS = 50_000;
const TEXT = /^(text\/|application\/(json|xml|javascript|[\w.+-]*\+(json|xml)))/;

function webFetch({ fetch, readPage }: WebPorts) {
  return async ({ arguments: { url, offset }, run: { owner } }: ToolCall, signal: AbortSignal): Promise<ToolOutcome> => {
    const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null;
    if (!address || !/^https?:$/.test(address.protocol)) return toFailure('url must be an http or https address');
    try {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const headers = { accept: 'text/html,application/json,text/*;q=0.9', 'user-agent': 'Perdura (web_fetch)' };
      const response = await fetch(address, { signal: patience, headers });
      const type = response.headers.get('content-type') ?? 'text/plain';
      if (!TEXT.test(type)) {
        await response.body?.cancel();
        return toFailure(`${url} is ${type}, which cannot be read as text`);
      }
      const body = await readBody(response);
      const text = /html/.test(type) ? await readPage(body, owner) : body;
      return {
        content: slicePart(text, offset) || '(empty)',
        failed: !response.ok,
        ...(response.ok ? {} : toStatusContent(response, text)),
      };
    } catch (error) {
      signal.throwIfAborted();
      return toFailure(`${url} could not be fetched: ${getReason(error)}`);
    }
  };
}

const toFailure = (content: string): ToolOutcome => ({ content, failed: true });

const toStatusContent = ({ status, statusText }: Response, text: string) => ({
  content: `The server answered ${status} ${statusText}\n${slicePart(text, 0)}`.trim(),
});

async function readBody(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    text += decoder.decode(chunk, { stream: true });
    if (bytes > BODY_BYTES) break;
  }
  return text + decoder.decode();
}

function slicePart(text: string, offset: unknown): string {
  const from = typeof offset === 'number' && offset > 0 ? Math.floor(offset) : 0;
  const part = text.slice(from, from + PART_CHARACTERS).toWellFormed();
  const rest = text.length - from - PART_CHARACTERS;
  return rest > 0 ? `${part}\n[${rest} more characters; continue with offset ${from + PART_CHARACTERS}]` : part;
}
