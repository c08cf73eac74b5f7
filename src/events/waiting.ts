import { gate } from '../domain/queue.ts';

/** What has been counted for one stream. */
export interface StreamAccount {
  add(bytes: number): void;
  /** Takes back everything that was counted. */
  close(): void;
}

/** Counts the bytes that wait in this process for the clients of its streams. */
export interface StreamBudget {
  account(): StreamAccount;
  /** Counts what an open reply buffers; returns a function that ends this. */
  watch(reply: { readonly writableLength: number }): () => void;
  /** Reads the record for a stream. Few read at a time, so that requests find a database connection however many streams are open. */
  read<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Does work that holds a large event in memory; few at a time, in the order of arrival. */
  withLarge<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  bytes(): number;
  streams(): number;
}

const READS_AT_ONCE = 6;
const LARGE_AT_ONCE = 4;

/** Lets so many pass at a time, in the order of arrival. */
function passing(most: number): StreamBudget['read'] {
  const { enter } = gate(most);
  return async (work, signal) => {
    const leave = await enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

export function countWaiting(): StreamBudget {
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
    read: passing(READS_AT_ONCE),
    withLarge: passing(LARGE_AT_ONCE),
    bytes: () => [...replies].reduce((sum, { writableLength }) => sum + writableLength, queued),
    streams: () => replies.size,
  };
}
