import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelFailure } from '../domain/model-failure.ts';
import { toModelFailure } from './failures.ts';

const LOADING_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** Asks a model server again while it loads its model, for up to a minute. */
export async function askWhenLoaded<T>(ask: () => Promise<T>, signal: AbortSignal, most_ms = LOADING_MS): Promise<T> {
  let waited_ms = 0;
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(pause_ms * 2, LONGEST_PAUSE_MS)) {
    try {
      return await ask();
    } catch (error) {
      const { code } = toModelFailure(error) as Partial<ModelFailure>;
      if (code !== 'model_loading' || waited_ms >= most_ms) throw error;
      const wait_ms = Math.min(pause_ms, most_ms - waited_ms);
      await sleep(wait_ms, undefined, { signal });
      waited_ms += wait_ms;
    }
  }
}
