import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { APIError } from 'openai';
import { takeSource } from '../domain/relayed-body.ts';

const END = '[DONE]';

/**
 * Passes each chunk of a streamed answer to `add`, up to the end mark if its vendor has one. The client could iterate over them, through
 * five iterators a token; this is one loop over the bytes. Failures are those of OpenAI's client: an `APIError` for an error within the
 * stream.
 */
export async function readChunks<Chunk>(response: Response, add: (chunk: Chunk) => void): Promise<void> {
  const body = response.body as ReadableStream<Uint8Array>;
  const source = takeSource(body);
  const decoder = new TextDecoder();
  let ended = false;
  const onEvent = (event: EventSourceMessage) => {
    if (event.data === END) ended = true;
    else if (!ended) add(parseChunk(event, response) as Chunk);
  };
  const parser = createParser({ onEvent });
  try {
    while (!ended) {
      const { done, value } = await source.read();
      // Some endpoints leave out the empty line after their last event.
      parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }));
      ended ||= done;
    }
    source.cancel().catch(() => {});
  } catch (error) {
    source.cancel(error).catch(() => {});
    throw error;
  }
}

function parseChunk({ event, data }: EventSourceMessage, { headers }: Response): object | null {
  const chunk = parseJson(data);
  const { error } = (chunk ?? {}) as { error?: object };
  if (error || event === 'error') throw new APIError(undefined, error ?? chunk ?? undefined, undefined, headers);
  return chunk;
}

/** Parses a chunk. Does not use the message of `JSON.parse`, which quotes the text. */
function parseJson(data: string): object | null {
  try {
    return JSON.parse(data) as object | null;
  } catch {
    throw new SyntaxError('an event of its stream is not valid JSON');
  }
}
