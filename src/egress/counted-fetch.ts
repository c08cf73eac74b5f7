import { ANSWER_TOO_LARGE, OutsideRefused } from '../domain/outside.ts';
import { type ByteSource, relayBody } from '../domain/relayed-body.ts';

type Fetch = typeof globalThis.fetch;

/** The most bytes of a response that are read, counted after decompression. */
export interface ByteLimits {
  /** The unit that is parsed at once: one event of an event stream, or the whole of any other body. */
  message: number;
  /** A whole event stream. */
  stream: number;
  /** The body of an error response; the rest of it is not read. */
  error: number;
  /** All headers of a response. */
  headers: number;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;

export const BYTE_LIMITS: ByteLimits = { message: 16 * MIB, stream: 64 * MIB, error: 64 * KIB, headers: 32 * KIB };

/** A fetch that counts the bytes of bodies as they are read, before parsing. Beyond a limit the body fails with `OutsideRefused`. */
export function limitFetchBytes(fetch: Fetch, limits: ByteLimits = BYTE_LIMITS): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init).catch((error: unknown) => {
      throw headersOverflowed(error) ? tooLarge('headers', limits.headers) : error;
    });
    const { body, url, redirected } = response;
    if (!body) return response;
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
    const admit = chooseAdmission(response, { method, limits });
    const limited_response = new Response(
      relayBody(body, (source) => limitSource(source, admit)),
      response,
    );
    return Object.defineProperties(limited_response, { url: { value: url }, redirected: { value: redirected } });
  };
}

const headersOverflowed = (error: unknown): boolean =>
  error instanceof Error &&
  ((error as NodeJS.ErrnoException).code === 'UND_ERR_HEADERS_OVERFLOW' || headersOverflowed(error.cause));

/** Counts a chunk. Returns the part to pass on, and whether to read more. Throws `OutsideRefused`. */
type Admission = (chunk: Uint8Array) => { passed: Uint8Array; more: boolean };

function chooseAdmission({ ok, headers }: Response, { method, limits }: { method: string; limits: ByteLimits }): Admission {
  if (!ok) return truncateBytes(limits.error);
  if (!headers.get('content-type')?.includes('text/event-stream')) return limitBytes(limits.message, 'an answer');
  const events = limitEventBytes(limits.message);
  // An event stream opened with GET has no end and is not buffered.
  if (method === 'GET') return events;
  const whole = limitBytes(limits.stream, 'a stream');
  return (chunk) => {
    whole(chunk);
    return events(chunk);
  };
}

function truncateBytes(most: number): Admission {
  let remaining = most;
  return (chunk) => {
    const passed = chunk.subarray(0, remaining);
    remaining -= passed.length;
    return { passed, more: remaining > 0 };
  };
}

function limitBytes(most: number, what: string): Admission {
  let bytes = 0;
  return (passed) => {
    bytes += passed.length;
    if (bytes > most) throw tooLarge(what, most);
    return { passed, more: true };
  };
}

const LINE_FEED = 10;

/** Admits bytes event by event; events end with an empty line. */
function limitEventBytes(most: number): Admission {
  let event = 0;
  let line = 0;
  return (passed) => {
    let from = 0;
    for (let at = passed.indexOf(LINE_FEED); at >= 0; at = passed.indexOf(LINE_FEED, from)) {
      line += at - from;
      event = line <= 1 ? 0 : event + line;
      if (event > most) throw tooLarge('an event', most);
      line = 0;
      from = at + 1;
    }
    line += passed.length - from;
    if (event + line > most) throw tooLarge('an event', most);
    return { passed, more: true };
  };
}

const formatSize = (bytes: number) => (bytes >= MIB ? `${Math.round(bytes / MIB)} MiB` : `${Math.ceil(bytes / KIB)} KiB`);

export const tooLarge = (what: string, most: number) =>
  new OutsideRefused(`${what} of more than ${formatSize(most)} is not read`, ANSWER_TOO_LARGE);

/** Passes on the bytes that the limits admit. */
function limitSource(source: ByteSource, admit: Admission): ByteSource {
  let ended = false;
  const end = () => {
    ended = true;
    source.cancel().catch(() => {});
  };
  const admitOrEnd = (chunk: Uint8Array) => {
    try {
      return admit(chunk);
    } catch (error) {
      end();
      throw error;
    }
  };
  return {
    async read() {
      if (ended) return { done: true };
      const { done, value } = await source.read();
      if (done) return { done };
      const { passed, more } = admitOrEnd(value);
      if (!more) end();
      return { done: false, value: passed };
    },
    cancel: (reason) => source.cancel(reason),
  };
}
