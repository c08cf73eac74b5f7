import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { StreamBudget } from '../../events/waiting.ts';
import { logFault } from './problems.ts';

export interface SseFrame {
  id?: number;
  /** The event type, for protocols that send it next to the data. */
  event?: string;
  /** Sent as JSON; a string is sent as is. */
  data: unknown;
}

/**
 * Loads a frame that is too large to be kept for a slow client. Repeated calls return the same frame; null: it no longer exists.
 */
export type LateFrame = () => Promise<SseFrame | Buffer | null>;

/** The frames of a stream. A buffer is a frame as `encodeFrame` returns it, which several streams may share. */
export type Frames = AsyncIterable<SseFrame | LateFrame | Buffer>;

const KEEP_ALIVE_MS = 15_000;

/** The `retry` hint: how soon a client reconnects to another process or to the restarted one. */
const RETRY_MS = 1_000;

/** The most bytes that may wait for a client's socket before the next frame is requested. */
const UNSENT_BYTES = 16 * 1024;
/** A large frame is written in at most this many parts, within these sizes: each part may require loading the frame again. */
const PARTS = { most: 32, smallest: 64 * 1024, largest: 1024 * 1024 };
/** How long a large frame is kept for a client that does not accept a part. After that, the frame is loaded again. */
const PATIENCE_MS = 200;

interface Sending {
  /** Aborted when the server stops. */
  closing: AbortSignal;
  /** Aborted when the client disconnects. */
  disconnect: AbortSignal;
  waiting: StreamBudget;
  /** True if the connection is cut when the server stops, so that the client does not take the stream for complete. */
  cut_on_close?: boolean;
}

/**
 * Streams frames as server-sent events. The opening comment flushes the headers. If the stream ends because the server is
 * `closing`, a `retry` hint follows. The next frame is requested only when the client has received nearly everything before it.
 */
export function sendEvents(reply: FastifyReply, frames: Frames, { closing, ...sending }: Sending): FastifyReply {
  reply.type('text/event-stream').header('cache-control', 'no-cache').header('x-accel-buffering', 'no');
  const { raw } = reply.hijack();
  raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>);
  if (reply.request.method === 'HEAD') raw.end();
  else
    void pump({ raw, ...sending }, frames, closing).catch((error: Error) => {
      if (!sending.disconnect.aborted) logFault(reply.log, error, 'a stream failed');
      raw.destroy();
    });
  return reply;
}

interface Outlet extends Omit<Sending, 'closing'> {
  raw: ServerResponse;
}

async function pump(outlet: Outlet, frames: Frames, closing: AbortSignal): Promise<void> {
  const { raw, waiting, cut_on_close = false } = outlet;
  // A comment inside a frame would split it in two.
  let is_between_frames = true;
  const beat = setInterval(() => {
    if (is_between_frames && raw.writableLength === 0) raw.write(': keep-alive\n\n');
  }, KEEP_ALIVE_MS);
  try {
    await writeAndWait(raw, ': open\n\n');
    for await (const frame of frames) {
      await waiting.turn();
      is_between_frames = false;
      if (typeof frame === 'function') await sendLate(outlet, frame);
      else await writeAndWait(raw, toBytes(frame));
      is_between_frames = true;
      if (raw.destroyed) return;
    }
    if (closing.aborted && cut_on_close) raw.destroy();
    else raw.end(closing.aborted ? `retry: ${RETRY_MS}\n\n` : undefined);
  } finally {
    clearInterval(beat);
  }
}

/** Writes a text and resolves when so little is unsent that more may be written. */
async function writeAndWait(raw: ServerResponse, text: string | Buffer): Promise<void> {
  const waitForSocket = startWrite(raw, text);
  if (raw.writableLength > UNSENT_BYTES) await waitForSocket();
}

type Taken = (most_ms?: number) => Promise<boolean>;

/** Writes a text. Returns a wait for the socket: true once the text is accepted, false if `most_ms` pass first. */
function startWrite(raw: ServerResponse, text: string | Buffer): Taken {
  let is_accepted = raw.destroyed;
  let done = () => {};
  if (!is_accepted)
    raw.write(text, () => {
      is_accepted = true;
      done();
    });
  return async (most_ms) => {
    if (is_accepted || raw.destroyed) return true;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      done = resolve;
      raw.once('close', resolve);
      if (most_ms !== undefined) timer = setTimeout(resolve, most_ms);
    });
    raw.off('close', done);
    clearTimeout(timer);
    return is_accepted || raw.destroyed;
  };
}

/** Sends a large frame in parts. The frame stays in memory only while the client accepts them. */
async function sendLate({ raw, disconnect, waiting }: Outlet, load: LateFrame): Promise<void> {
  for (let from = 0, length = Number.POSITIVE_INFINITY; from < length && !disconnect.aborted; ) {
    const sending = () => sendParts(raw, load, from);
    const { waitForSocket, ...place } = await waiting.withLarge(sending, disconnect);
    ({ from, length } = place);
    await waitForSocket();
  }
}

/** Writes parts until one is not accepted in time. Returns the place to continue from, and what to wait for. */
async function sendParts(raw: ServerResponse, load: LateFrame, start: number) {
  const frame = await load();
  const text = frame ? toBytes(frame) : Buffer.alloc(0);
  const size = Math.min(PARTS.largest, Math.max(PARTS.smallest, Math.ceil(text.length / PARTS.most)));
  let from = start;
  let waitForSocket: Taken = async () => true;
  for (let slow = false; from < text.length && !slow && !raw.destroyed; ) {
    // Copies the part, because a view of the buffer would keep all of it in memory.
    const part = Buffer.from(text.subarray(from, from + size));
    from += part.length;
    waitForSocket = startWrite(raw, part);
    slow = !(await waitForSocket(PATIENCE_MS));
  }
  return { from, length: text.length, waitForSocket: waitForSocket };
}

const toBytes = (frame: SseFrame | Buffer) => (Buffer.isBuffer(frame) ? frame : encodeFrame(frame));

/** Encodes a frame as bytes. Node keeps a copy of three times the length of a string that waits for its socket. */
export function encodeFrame({ id, event, data }: SseFrame): Buffer {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return Buffer.from(`${head}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
}
