import { findOutage } from '../domain/outages.ts';
import { DELTA_CHARACTERS, piecesOfText } from '../domain/pieces.ts';

/** How long text waits for more, so that a fast model does not cause one write per token. */
const PAUSE_MS = 50;
/**
 * The added wait for each run in progress: every text costs a row, a notification and a write to each reader, however short it
 * is.
 */
const PAUSE_MS_PER_RUN = 1;
const LONGEST_PAUSE_MS = 150;
const BATCH_CHARACTERS = 4_096;

interface DeltaPublisher {
  /** Accepts text as it arrives. It is published in order, in batches, the first one immediately. */
  push(delta: string): void;
  /** Resolves when everything pushed so far has been published or given up. */
  flush(): Promise<void>;
  /** False if the database was unavailable and some text may not have been published: publish the whole text again. */
  complete(): boolean;
}

/**
 * Calls `send` for one batch at a time. If `send` gives up because the database is unavailable, nobody knows what was
 * published, so nothing more is sent. `flush` rejects with any other failure.
 */
export type PublishDeltas = (send: (delta: string) => Promise<unknown>) => DeltaPublisher;

/** Creates publishers that send at the same moments, so that texts of many runs are written together. */
export function deltaPublishers(): PublishDeltas {
  const clock = createSharedClock();
  return (send) => {
    let complete = true;
    let waiting = '';
    let queued = false;
    let chain: Promise<unknown> = Promise.resolve();
    let last = Number.NEGATIVE_INFINITY;

    const giveUp = (error: unknown) => {
      if (!findOutage(error)) throw error;
      complete = false;
    };
    const sendPieces = async (batch: string) => {
      for (const piece of piecesOfText(batch, DELTA_CHARACTERS)) await send(piece);
    };
    const sendBatch = () => {
      const batch = waiting;
      queued = false;
      waiting = '';
      return complete ? sendPieces(batch).catch(giveUp) : undefined;
    };
    const sendWaiting = () => {
      last = performance.now();
      if (queued) return;
      queued = true;
      chain = chain.then(sendBatch);
      chain.catch(() => {});
    };

    return {
      push(delta) {
        // Otherwise this text joins the text that is waiting already.
        const is_first = waiting === '';
        waiting += delta;
        if (waiting.length >= BATCH_CHARACTERS) sendWaiting();
        else if (is_first && performance.now() - last >= clock.pause()) sendWaiting();
        else if (is_first) clock.onTick(sendWaiting);
      },
      async flush() {
        sendWaiting();
        await chain;
      },
      complete: () => complete,
    };
  };
}

interface Clock {
  /** Calls a function at the next tick. */
  onTick(work: () => void): void;
  /** The time between two ticks. */
  pause(): number;
}

/** Creates a clock that stops while nobody uses it. */
function createSharedClock(): Clock {
  let callbacks: (() => void)[] = [];
  let pause = PAUSE_MS;
  let last = Number.NEGATIVE_INFINITY;
  const tick = () => {
    const due = callbacks;
    callbacks = [];
    last = performance.now();
    pause = Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE_MS, due.length * PAUSE_MS_PER_RUN));
    for (const work of due) work();
  };
  return {
    onTick(work) {
      const rest = last + pause - performance.now();
      if (callbacks.length === 0) setTimeout(tick, rest > 0 ? rest : pause);
      callbacks.push(work);
    },
    pause: () => pause,
  };
}
