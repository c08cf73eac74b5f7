import { outageOf } from '../domain/outages.ts';
import { DELTA_CHARACTERS, piecesOfText } from '../domain/pieces.ts';

/** Text waits this long for more, so that a fast model does not cause one write per token. */
const PAUSE_MS = 50;
const BATCH_CHARACTERS = 4_096;

export interface DeltaPublisher {
  /** Accepts text as it arrives. It is published in order, in batches, the first one immediately. */
  push(delta: string): void;
  /** Resolves when everything pushed so far has been published or given up. */
  flush(): Promise<void>;
  /** False if the database was unavailable and some text may not have been published: publish the whole text again. */
  complete(): boolean;
}

/**
 * Calls `send` one at a time, and not before `ready`. If the database is unavailable it is unknown what was published, so nothing
 * more is sent; other failures surface in `flush`.
 */
export function deltaPublisher(send: (delta: string) => Promise<unknown>, ready: Promise<unknown>): DeltaPublisher {
  let complete = true;
  let waiting = '';
  let chain: Promise<unknown> = ready;
  let timer: NodeJS.Timeout | undefined;
  let last = 0;

  const giveUp = (error: unknown) => {
    if (!outageOf(error)) throw error;
    complete = false;
  };
  const sendPieces = async (batch: string) => {
    for (const piece of piecesOfText(batch, DELTA_CHARACTERS)) await send(piece);
  };
  const sendWaiting = () => {
    clearTimeout(timer);
    timer = undefined;
    last = performance.now();
    chain = chain.then(() => {
      const batch = waiting;
      waiting = '';
      return complete ? sendPieces(batch).catch(giveUp) : undefined;
    });
    chain.catch(() => {});
  };

  return {
    push(delta) {
      waiting += delta;
      const pause = last + PAUSE_MS - performance.now();
      if (pause <= 0 || waiting.length >= BATCH_CHARACTERS) sendWaiting();
      else timer ??= setTimeout(sendWaiting, pause);
    },
    async flush() {
      sendWaiting();
      await chain;
    },
    complete: () => complete,
  };
}
