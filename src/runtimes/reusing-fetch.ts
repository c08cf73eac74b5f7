import { type ByteSource, relayBody } from '../domain/relayed-body.ts';

export type Fetch = typeof globalThis.fetch;

/** After the end mark only the end of the transfer follows; a server that keeps it open longer loses its connection. */
const REST_MS = 1_000;

/**
 * A fetch that reuses connections after a streamed answer. Reading stops at the `[DONE]` mark, and abandoning a body
 * before its last byte closes the connection: the next step of a run would need a new one, TLS included.
 */
export function reuseConnections(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body, headers } = response;
    if (!body || !headers.get('content-type')?.includes('text/event-stream')) return response;
    return new Response(relayBody(body, reusable), response);
  };
}

/** Reads and drops the rest of a body whose reader stops without a reason: that reader has all the data it needs. */
const reusable = (source: ByteSource): ByteSource => ({
  read: () => source.read(),
  async cancel(reason) {
    if (reason !== undefined) return source.cancel(reason);
    const timer = setTimeout(() => source.cancel().catch(() => {}), REST_MS);
    void drain(source).finally(() => clearTimeout(timer));
  },
});

async function drain(source: ByteSource): Promise<void> {
  try {
    while (!(await source.read()).done);
  } catch {
    // The connection broke, and its remaining data was not needed.
  }
}
