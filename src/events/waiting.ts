import { gate } from '../domain/queue.ts';

/** The bytes that have been counted for one stream. */
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
  /**
   * Reads the record for a stream. Few streams read at a time, so that requests find a database connection however many streams
   * are open.
   */
  read<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Does work that holds a large event in memory; few run at a time, in the order of arrival. */
  withLarge<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /**
   * Resolves when the next frame may be sent: requests are answered between the frames of many streams. Undefined if there is
   * no need to wait.
   */
  turn(): Promise<void> | undefined;
  bytes(): number;
  streams(): number;
}

const READS_AT_ONCE = 6;
const LARGE_AT_ONCE = 4;
/**
 * The limits, in milliseconds, of the time for sending in one turn of the event loop. Within them it equals the time that
 * everything else took.
 */
const SENDING_MS = { least: 6, most: 30 };
/** The frames sent between two looks at the clock, at up to 0.2 ms each. */
const FRAMES_TOGETHER = 16;

/** Runs at most this many pieces of work at a time, in the order of arrival. */
function limitConcurrency(most: number): StreamBudget['read'] {
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

/** Calls a function when everything that follows from this turn's events in the event loop is done. */
const afterwards = (then: () => void) => queueMicrotask(() => process.nextTick(then));

/** Lets as many callers pass in each turn of the event loop as there is time for, in the order of arrival. */
function createTurns(): StreamBudget['turn'] {
  const waiting: (() => void)[] = [];
  /** True if a frame was to be sent in this turn. */
  let is_sending = false;
  let looking = false;
  /** How many frames may pass before the next look at the clock. */
  let free = 0;
  /** The time at which this turn's sending ends. */
  let until = 0;
  /** The last look at the clock. The time from then until the next turn begins counts as everything else. */
  let last_look = performance.now();

  const begin = () => {
    is_sending = true;
    setImmediate(next);
    const now = performance.now();
    until = now + Math.min(SENDING_MS.most, Math.max(SENDING_MS.least, now - last_look));
    free = FRAMES_TOGETHER;
  };
  const next = () => {
    is_sending = false;
    if (waiting.length === 0) return;
    begin();
    checkClock();
  };
  const checkClock = () => {
    looking = false;
    last_look = performance.now();
    const most = last_look < until ? FRAMES_TOGETHER : 0;
    const passing = waiting.splice(0, most);
    free = most - passing.length;
    if (passing.length > 0) checkClockLater();
    for (const pass of passing) pass();
  };
  const checkClockLater = () => {
    if (looking) return;
    looking = true;
    afterwards(checkClock);
  };
  return () => {
    if (!is_sending) begin();
    if (free === 0) return new Promise((resolve) => waiting.push(resolve));
    free -= 1;
    checkClockLater();
    return undefined;
  };
}

export function createStreamBudget(): StreamBudget {
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
    read: limitConcurrency(READS_AT_ONCE),
    withLarge: limitConcurrency(LARGE_AT_ONCE),
    turn: createTurns(),
    bytes: () => [...replies].reduce((sum, { writableLength }) => sum + writableLength, queued),
    streams: () => replies.size,
  };
}
