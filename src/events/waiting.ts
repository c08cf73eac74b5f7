/** What has been counted for one stream. */
export interface Account {
  add(bytes: number): void;
  /** Takes back everything that was counted. */
  close(): void;
}

/** Counts the bytes that wait in this process for the clients of its streams. */
export interface Waiting {
  account(): Account;
  /** Counts what an open reply buffers; returns a function that ends this. */
  watch(reply: { readonly writableLength: number }): () => void;
  bytes(): number;
  streams(): number;
}

export function countWaiting(): Waiting {
  let queued = 0;
  const replies = new Set<{ readonly writableLength: number }>();
  return {
    account() {
      let own = 0;
      const add = (bytes: number) => {
        own += bytes;
        queued += bytes;
      };
      return { add, close: () => add(-own) };
    },
    watch(reply) {
      replies.add(reply);
      return () => void replies.delete(reply);
    },
    bytes: () => [...replies].reduce((sum, { writableLength }) => sum + writableLength, queued),
    streams: () => replies.size,
  };
}
