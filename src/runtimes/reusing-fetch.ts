import { relayedBody } from './relayed-body.ts';

export type Fetch = typeof globalThis.fetch;

/** After the end mark only the end of the transfer follows; a server that keeps it open longer loses its connection. */
const REST_MS = 1_000;

/**
 * A fetch that reuses connections after a streamed answer. The client stops reading at the `[DONE]` mark, and abandoning a body
 * before its last byte closes the connection: the next step of a run would need a new one, TLS included.
 */
export function reusingFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body, headers } = response;
    if (!body || !headers.get('content-type')?.includes('text/event-stream')) return response;
    return new Response(relayedBody(body, { onCancel: readRest }), response);
  };
}

/** If the reader of the answer stops, the rest is read and dropped. */
function readRest(source: ReadableStreamDefaultReader<Uint8Array>, reason: unknown): void {
  const late = setTimeout(() => source.cancel(reason).catch(() => {}), REST_MS);
  void drained(source).finally(() => clearTimeout(late));
}

async function drained(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The connection broke, and its remaining data was not needed.
  }
}
