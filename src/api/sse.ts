import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

export interface SseFrame {
  id?: number;
  /** The type of the event, for protocols that name it beside the data. */
  event?: string;
  /** Sent as JSON; a text as it is. */
  data: unknown;
}

const KEEP_ALIVE_MS = 15_000;

/** How soon a client is to come back, to another process or to this one's successor. */
const RETRY_MS = 1_000;

/** Streams frames as server-sent events. The opening comment makes the headers leave at once. Frames that end because the server is `closing` are followed by a hint to come back. */
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
