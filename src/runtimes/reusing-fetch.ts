export type Fetch = typeof globalThis.fetch;

/** What follows the mark at the end of a stream is the end of the transfer; a server that keeps it open longer loses its connection. */
const REST_MS = 1_000;

/**
 * A fetch whose connections outlive a streamed answer. The client stops reading at the `[DONE]` mark, and giving up a body before
 * its last byte closes the connection: the next step of a run would then pay for a new one, TLS included.
 */
export function reusingFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body, headers } = response;
    if (!body || !headers.get('content-type')?.includes('text/event-stream')) return response;
    return new Response(readToItsEnd(body), response);
  };
}

/** The same bytes; when the reader leaves, the rest is read and dropped. */
function readToItsEnd(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel(reason) {
        const late = setTimeout(() => reader.cancel(reason).catch(() => {}), REST_MS);
        void drained(reader).finally(() => clearTimeout(late));
      },
    },
    { highWaterMark: 0 },
  );
}

async function drained(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The connection is gone, and nothing of it was wanted any more.
  }
}
