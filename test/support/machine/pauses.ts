import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { afterEach, beforeEach, vi } from 'vitest';

const { setTimeout: waitReally } = timers;

/** Waits by the global timers, which Vitest replaces. It does not replace those of node:timers/promises itself. */
async function wait<T>(ms?: number, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(value as T), ms);
  const abort = () => reject(signal?.reason);
  signal?.addEventListener('abort', abort);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  });
}

/** Puts each test of a file under a clock of the test, which pauses of node:timers/promises follow as well. */
export function fakePauses(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    Object.assign(timers, { setTimeout: wait });
    syncBuiltinESMExports();
  });
  afterEach(() => {
    vi.useRealTimers();
    Object.assign(timers, { setTimeout: waitReally });
    syncBuiltinESMExports();
  });
}
