import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { ReportedError, readVendorError, throwReportedError } from './vendor-errors.ts';

export interface BodyReader {
  /** Receives each JSON object of a stream. */
  onEvent(event: object): void;
}

/** `[DONE]` in all spellings. */
const END_MARK = /^"?\[?\s*done\s*\]?"?[.!]?$/i;
const SIGNS_OF_LIFE = ['', 'ping', 'pong', 'keepalive', 'heartbeat', 'processing', 'openrouterprocessing', 'null', 'undefined'];

const FIELD_AGAIN = /^data:\s?/;
/** The place between events that follow each other within one line. */
const GLUED = /(?<=\})data:\s?(?=[{[])/;

/** True for a text that only shows that the endpoint works. */
const showsLife = (data: string): boolean =>
  SIGNS_OF_LIFE.includes(
    data
      .slice(0, 100)
      .replaceAll(/[^\p{L}\d]/gu, '')
      .toLowerCase(),
  );

interface Events {
  feed(text: string): void;
  /** Ends the last event. Some endpoints leave out the empty line after it. */
  end(): void;
  /** True after the vendor's end mark. */
  isEnded(): boolean;
  /** Returns the last text that is neither JSON nor a sign of life. */
  getStray(): string | null;
}

/**
 * Reads server-sent events, one loop over the bytes. Signs of life are skipped: empty events, comments, pings. Throws for an error
 * that an event reports, and for JSON that is damaged.
 */
export function readEvents({ onEvent }: BodyReader, headers: Headers): Events {
  let ended = false;
  let stray: string | null = null;
  const take = (data: string, event?: string) => {
    // Some proxies write the name of the field twice, or leave out the end of a line.
    const is_joined = data.includes('data:') && !isJson(data);
    for (const part of is_joined ? data.replace(FIELD_AGAIN, '').split(GLUED) : [data]) takeOne(part.trim(), event);
  };
  const takeOne = (data: string, event?: string) => {
    if (ended) return;
    const value = parseEvent(data);
    if (typeof value !== 'string') return throwOrPass(value, event);
    if (END_MARK.test(value)) ended = true;
    else if (event === 'error') throw new ReportedError({ ...readVendorError(value), headers });
    else if (!showsLife(value)) stray = value;
  };
  const throwOrPass = (value: unknown, event?: string) => {
    if (typeof value !== 'object' || value === null) return;
    throwReportedError(value, { headers, is_error: event === 'error' });
    onEvent(value);
  };
  const onMessage = ({ data, event }: EventSourceMessage) => {
    if (ended || isSignOfLife(event)) return;
    // Some endpoints leave out the empty lines between events.
    const lines = data.includes('\n') && !isJson(data) ? data.split('\n') : [data];
    for (const line of lines) take(line.trim(), event);
  };
  const parser = createParser({
    onEvent: onMessage,
    // Some endpoints leave out `data:`, mostly before the end mark.
    onError: ({ type, line = '' }) => {
      if (type === 'unknown-field' && !ended && /^[[{"]/.test(line.trim())) take(line.trim());
    },
  });
  return {
    feed: (text) => parser.feed(text),
    end: () => parser.feed('\n\n'),
    isEnded: () => ended,
    getStray: () => stray,
  };
}

const isSignOfLife = (event: string | undefined): boolean =>
  event !== undefined && /^(?:ping|keep[-_]?alive|heart[-_]?beat)$/i.test(event);

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Returns the JSON value of an event, or its text. Does not use the message of `JSON.parse`, which quotes the text. */
function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    if (/^[{[]/.test(data) && !END_MARK.test(data)) throw new SyntaxError('an event of its stream is not valid JSON');
    return data;
  }
}
