import { outageOf } from '../domain/outages.ts';

/** Text waits this long for more of it, so that a fast model does not cost a write a token. */
const PAUSE_MS = 50;
const BATCH_CHARACTERS = 4_096;

export interface DeltaPublisher {
  /** Takes text as it comes; it is told in order, in batches, the first at once. */
  push(delta: string): void;
  /** Resolves when everything pushed so far has been told, or given up. */
  flush(): Promise<void>;
  /** False when some text may not have been told, because the database was away: the text has to be told anew, as a whole. */
  complete(): boolean;
}

/**
 * `send` is never called while an earlier call of it is under way; nothing is sent before `ready`. When it finds the database
 * away nobody knows what was told, so nothing more is; its other failures surface in `flush`.
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
  const sendWaiting = () => {
    clearTimeout(timer);
    timer = undefined;
    last = performance.now();
    chain = chain.then(() => {
      const batch = waiting;
      waiting = '';
      return batch && complete ? send(batch).catch(giveUp) : undefined;
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
