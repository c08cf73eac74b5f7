import { createParser } from 'eventsource-parser';
import { pickTexts, truncate } from '../../domain/outside.ts';
import { McpUnreadable, withoutDumps } from './failures.ts';

/**
 * Returns a function that gets the parts of an event stream, and returns the id of the last whole event so far; null if there was
 * none. By such an id the client resumes a stream. One that is too long to be kept is none.
 */
export function createIdReader(): (part: Uint8Array) => string | null {
  const decoder = new TextDecoder();
  let last_id: string | null = null;
  const parser = createParser({
    onEvent: ({ id }) => {
      if (id) last_id = id.length <= ID_CHARACTERS ? id : null;
    },
  });
  return (part) => {
    parser.feed(decoder.decode(part, { stream: true }));
    return last_id;
  };
}

const ID_CHARACTERS = 1_024;

const getType = ({ headers }: Response) => headers.get('content-type')?.toLowerCase() ?? '';

export const isStream = (response: Response): boolean => getType(response).includes(EVENT_STREAM);

/**
 * Returns the answer to a request with the label that its body has earned: servers and proxies send JSON and event streams as
 * text, under each other's label, or without one. Throws if the body is neither.
 */
export async function labelAnswer(response: Response): Promise<Response> {
  const reader = response.body?.getReader();
  const { parts, start } = reader ? await readStart(reader) : { parts: [], start: '' };
  const type = findType(start) ?? (isStream(response) ? EVENT_STREAM : null);
  if (!reader || !type) {
    await reader?.cancel();
    throw new McpUnreadable(start ? 'it is not a message of the protocol' : 'it is empty');
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const read_part = parts.shift();
        if (read_part) return controller.enqueue(read_part);
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const headers = new Headers(response.headers);
  headers.set('content-type', type);
  return new Response(body, { status: response.status, statusText: response.statusText, headers });
}

/** Reads a body until it shows what it is: blank lines at its beginning keep a connection open. */
async function readStart(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<{ parts: Uint8Array[]; start: string }> {
  const decoder = new TextDecoder();
  const parts: Uint8Array[] = [];
  let start = '';
  while (FIELDS.some((field) => field.length > start.length && field.startsWith(start))) {
    const { done, value } = await reader.read();
    if (done) break;
    start = (start + decoder.decode(value, { stream: true })).trimStart();
    // Blank parts are of no use to anybody, and a server may send them without end.
    if (start !== '') parts.push(value);
  }
  return { parts, start };
}

const EVENT_STREAM = 'text/event-stream';
/** The fields with which an event stream may begin. */
const FIELDS = ['data:', 'event:', 'id:', 'retry:'];

/** Returns the type of a body by its beginning; null if it is none that the protocol knows. */
const findType = (start: string): string | null => {
  if (/^[{[]/.test(start)) return 'application/json';
  return [':', ...FIELDS].some((field) => start.startsWith(field)) ? EVENT_STREAM : null;
};

interface Refusal {
  /** What the server says about its refusal; empty if it says nothing that a person could read. */
  sentence: string;
  /** True if the body is an answer of the protocol. */
  in_protocol: boolean;
}

/** Reads what a server says about a refusal: an error of the protocol, or one of the usual forms of JSON, or a line of text. */
export async function readRefusal(response: Response): Promise<Refusal> {
  const text = (await response.text().catch(() => '')).trim();
  const value = parseBody(text);
  if (value === undefined) return { sentence: /^<|[\r\n]/.test(text) ? '' : truncate(text), in_protocol: false };
  const { jsonrpc, error } = Object(value) as { jsonrpc?: unknown; error?: unknown };
  const in_protocol = jsonrpc !== undefined && typeof error === 'object' && error !== null;
  return { sentence: truncate(withoutDumps(findMessage(value))), in_protocol };
}

function parseBody(text: string): unknown {
  // A server may answer with one event of a stream.
  let data: string | undefined;
  const parser = createParser({
    onEvent: (event) => {
      data ??= event.data;
    },
  });
  parser.feed(`${text}\n\n`);
  try {
    return JSON.parse(data ?? text);
  } catch {
    return undefined;
  }
}

/** Returns the message within a body of JSON; empty if there is none. */
function findMessage(value: unknown): string {
  if (typeof value === 'string') return value;
  const { error, errors, detail } = Object(value) as { error?: unknown; errors?: unknown; detail?: unknown };
  const { message, error_description, detail: detail_text, error: error_text, title } = pickTexts(value);
  const nested = [error, Array.isArray(errors) ? errors[0] : undefined, Array.isArray(detail) ? detail[0] : detail];
  const found = nested.filter((one) => typeof one === 'object' && one !== null).map(findMessage);
  const { msg } = pickTexts(value);
  return [...found, message, error_description, detail_text, error_text, msg, title].find(Boolean) ?? '';
}
