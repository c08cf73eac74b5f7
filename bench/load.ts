import { setTimeout as wait } from 'node:timers/promises';

export interface Spread {
  count: number;
  p50: number;
  p95: number;
  max: number;
  mean: number;
}

export function spreadOf(values: number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), max: at(1), mean };
}

/** Returns the milliseconds that the work took. */
export async function measureTime(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Returns the milliseconds from the start of the work until it calls back. */
export async function measureTimeToFirst(work: (on_first: () => void) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let first = Number.NaN;
  await work(() => {
    first = performance.now() - start;
  });
  return first;
}

export interface Load {
  clients: number;
  /** How long runs are counted. If runs take longer, counting continues until each client has a counted one. */
  window_ms: number;
}

export interface Loaded {
  runs_per_second: number;
  latency_ms: Spread;
  errors: number;
  first_error: string | null;
  /** The longest time in the window during which no run ended. */
  longest_pause_ms: number;
}

const LONGEST_MS = 120_000;
const PAUSE_AFTER_ERROR_MS = 100;

/**
 * Runs a closed loop: each client starts its next run when its last one has ended. Counting starts when every client has ended
 * its first run, because all first runs start at once.
 */
export async function closedLoop({ clients, window_ms }: Load, work: (client: number) => Promise<unknown>): Promise<Loaded> {
  const start = performance.now();
  const counted: { ended: number; took: number }[] = [];
  const failures: string[] = [];
  let warm = 0;
  let begin = Number.POSITIVE_INFINITY;
  const over = (now: number) =>
    now - start > LONGEST_MS || failures.length > clients * 10 || (now - begin > window_ms && counted.length >= clients);

  const loop = async (client: number) => {
    for (let first = true; !over(performance.now()); first = false) {
      try {
        const took = await measureTime(() => work(client));
        const ended = performance.now();
        if (ended > begin && !over(ended)) counted.push({ ended, took });
      } catch (error) {
        failures.push((error as Error).message);
        await wait(PAUSE_AFTER_ERROR_MS);
      }
      if (first && ++warm === clients) begin = performance.now();
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)));
  const marks = [begin, ...counted.map(({ ended }) => ended)];
  return {
    runs_per_second: counted.length / (((marks.at(-1) as number) - begin) / 1000),
    latency_ms: spreadOf(counted.map(({ took }) => took)),
    errors: failures.length,
    first_error: failures[0] ?? null,
    longest_pause_ms: Math.max(...marks.slice(1).map((mark, index) => mark - (marks[index] as number))),
  };
}
