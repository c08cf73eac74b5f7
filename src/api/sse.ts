import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

export interface SseFrame {
  id?: number;
  /** The event type, for protocols that send it next to the data. */
  event?: string;
  /** Sent as JSON; a string is sent as is. */
  data: unknown;
}

const KEEP_ALIVE_MS = 15_000;

/** The `retry` hint: how soon a client reconnects to another process or to the restarted one. */
const RETRY_MS = 1_000;

/**
 * Streams frames as server-sent events. The opening comment flushes the headers. If the stream ends because the server is
 * `closing`, a `retry` hint follows.
 */
export function sendEvents(reply: FastifyReply, frames: AsyncIterable<SseFrame>, closing: AbortSignal): FastifyReply {
  const stream = Readable.from(encode(frames, closing));
  const beat = setInterval(() => {
    if (stream.readableFlowing && !reply.raw.writableEnded) reply.raw.write(': keep-alive\n\n');
  }, KEEP_ALIVE_MS);
  stream.once('close', () => clearInterval(beat));
  return reply.type('text/event-stream').header('cache-control', 'no-cache').header('x-accel-buffering', 'no').send(stream);
}

async function* encode(frames: AsyncIterable<SseFrame>, closing: AbortSignal): AsyncGenerator<string> {
  yield ': open\n\n';
  for await (const frame of frames) yield textOfFrame(frame);
  if (closing.aborted) yield `retry: ${RETRY_MS}\n\n`;
}

function textOfFrame({ id, event, data }: SseFrame): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return `${head}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
