/** Text waits this long for more of it, so that a fast model does not cost a write a token. */
const PAUSE_MS = 50;
const BATCH_CHARACTERS = 4_096;

export interface DeltaPublisher {
  /** Takes text as it comes; it is told in order, in batches, the first at once. */
  push(delta: string): void;
  /** Resolves when everything pushed so far has been told. */
  flush(): Promise<void>;
  /** What was not told yet, once everything before it has been: whoever takes it tells it with the record. */
  rest(): Promise<string>;
  /** All text so far. */
  text(): string;
}

/** `send` is never called while an earlier call of it is under way; nothing is sent before `ready`. Its failures surface in `flush`. */
export function deltaPublisher(send: (delta: string) => Promise<unknown>, ready: Promise<unknown>): DeltaPublisher {
  let whole = '';
  let waiting = '';
  let chain: Promise<unknown> = ready;
  let timer: NodeJS.Timeout | undefined;
  let last = 0;

  const sendWaiting = () => {
    clearTimeout(timer);
    timer = undefined;
    last = performance.now();
    chain = chain.then(() => {
      const batch = waiting;
      waiting = '';
      return batch ? send(batch) : undefined;
    });
    chain.catch(() => {});
  };

  return {
    push(delta) {
      whole += delta;
      waiting += delta;
      const pause = last + PAUSE_MS - performance.now();
      if (pause <= 0 || waiting.length >= BATCH_CHARACTERS) sendWaiting();
      else timer ??= setTimeout(sendWaiting, pause);
    },
    async flush() {
      sendWaiting();
      await chain;
    },
    async rest() {
      clearTimeout(timer);
      const taken = waiting;
      waiting = '';
      await chain;
      return taken;
    },
    text: () => whole,
  };
}
