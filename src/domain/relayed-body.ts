type Body = ReadableStream<Uint8Array>;
type Read = { done: true; value?: undefined } | { done: false; value: Uint8Array };

/** The bytes of a body, for one reader. `cancel` stops the source. */
export interface ByteSource {
  read(): Promise<Read>;
  cancel(reason?: unknown): Promise<void>;
}

/** The sources of relayed bodies. */
const sources = new WeakMap<Body, ByteSource>();

/**
 * Takes the only reader of a body. A relayed body is read at its source: each stream in between would cost several times as much
 * as parsing a token. Keep the body while reading: the client that asked for it may have tied the end of the request to it.
 */
export function takeSource(body: Body): ByteSource {
  const reader = body.getReader() as ByteSource;
  return sources.get(body) ?? reader;
}

/** Returns the same body with another source. */
export const relayBody = (body: Body, relay: (source: ByteSource) => ByteSource): Body => toBody(relay(takeSource(body)));

/** Creates a body that reads its source no faster than its reader reads it. */
export function toBody(source: ByteSource): Body {
  const body: Body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await source.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => source.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  sources.set(body, source);
  return body;
}
