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
    return new Response(readToItsEnd(body), response);
  };
}

/** Passes the bytes through; if the reader stops, reads and drops the rest. */
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
    // The connection broke, and its remaining data was not needed.
  }
}
