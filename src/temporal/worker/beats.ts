import { setTimeout as wait } from 'node:timers/promises';
import { findOutage } from '../../domain/outages.ts';

interface BeatOptions {
  /** Writes what the worker reports of itself. */
  beat(): Promise<void>;
  /** Forgets the worker. */
  leave(): Promise<void>;
  log(message: string): void;
  every_ms?: number;
}

const EVERY_MS = 10_000;

/** Reports a worker until it stops. A report that fails stops nothing: the next one follows. */
export function keepBeating({ beat, leave, log, every_ms = EVERY_MS }: BeatOptions): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let last_failure = '';
  async function report(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      last_failure = '';
    } catch (error) {
      const { message } = error as Error;
      // A database that cannot be reached is reported elsewhere.
      if (!findOutage(error) && message !== last_failure) log(`This worker cannot report its load: ${message}`);
      last_failure = message;
    }
  }
  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      await report(beat);
      await wait(every_ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }
  const loop = keep();
  return {
    async stop() {
      stopping.abort();
      await loop;
      await report(leave);
    },
  };
}
