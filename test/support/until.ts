import { setTimeout as wait } from 'node:timers/promises';

/** Polls until the result is truthy, and returns it. */
export async function until<T>(what: string, ask: () => Promise<T | null | undefined | false>, timeout_ms = 20_000): Promise<T> {
  const end = Date.now() + timeout_ms;
  while (Date.now() < end) {
    const found = await ask();
    if (found) return found;
    await wait(50);
  }
  throw new Error(`${what} did not happen within ${timeout_ms} ms`);
}
