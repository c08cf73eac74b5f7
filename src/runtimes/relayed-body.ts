type Source = ReadableStreamDefaultReader<Uint8Array>;

interface Relay {
  /** Called after each read of the source, its end included. */
  onRead?(): void;
  /** The reader of the relayed body wants no more; by default the source is cancelled. */
  onCancel?(source: Source, reason: unknown): Promise<void> | void;
}

const cancelled = (source: Source, reason: unknown): Promise<void> | void => source.cancel(reason);

/** The same bytes, read no faster than they are taken. A TransformStream would do, at several times the cost of a chunk. */
export function relayedBody(
  body: ReadableStream<Uint8Array>,
  { onRead = () => {}, onCancel = cancelled }: Relay,
): ReadableStream<Uint8Array> {
  const source = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await source.read();
        onRead();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => onCancel(source, reason),
    },
    { highWaterMark: 0 },
  );
}
