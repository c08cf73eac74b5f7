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
  /** Resolves when the next frame may be sent: requests are answered between the frames of many streams. */
  turn(): Promise<void> | undefined;
  bytes(): number;
  streams(): number;
}

const READS_AT_ONCE = 6;
const LARGE_AT_ONCE = 4;
/** Frames sent in one turn of the event loop, at up to 0.2 ms each. */
const FRAMES_A_TURN = 32;

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

/** Lets so many pass in each turn of the event loop, in the order of arrival. */
function turnsOf(most: number): StreamBudget['turn'] {
  let left = most;
  let waiting: (() => void)[] = [];
  const next = () => {
    const passing = waiting.slice(0, most);
    waiting = waiting.slice(most);
    left = most - passing.length;
    if (passing.length > 0) setImmediate(next);
    for (const pass of passing) pass();
  };
  return () => {
    if (left === most) setImmediate(next);
    if (left > 0) {
      left -= 1;
      return undefined;
    }
    return new Promise((resolve) => waiting.push(resolve));
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
    turn: turnsOf(FRAMES_A_TURN),
    bytes: () => [...replies].reduce((sum, { writableLength }) => sum + writableLength, queued),
    streams: () => replies.size,
  };
}
