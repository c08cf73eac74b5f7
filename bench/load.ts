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

/** Milliseconds that the work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Milliseconds from the start of the work to the moment it calls back. */
export async function timedToFirst(work: (on_first: () => void) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let first = Number.NaN;
  await work(() => {
    first = performance.now() - start;
  });
  return first;
}

export interface Load {
  clients: number;
  /** Completions before this are not counted: the first of all clients start at once. */
  warmup_ms: number;
  window_ms: number;
}

export interface Loaded {
  runs_per_second: number;
  latency_ms: Spread;
  errors: number;
  first_error: string | null;
  /** The longest time in the window in which no run ended. */
  longest_pause_ms: number;
}

/** A closed loop: each client begins its next run when its last has ended. Counts what ends within the window. */
export async function closedLoop(
  { clients, warmup_ms, window_ms }: Load,
  work: (client: number) => Promise<unknown>,
): Promise<Loaded> {
  const begin = performance.now() + warmup_ms;
  const end = begin + window_ms;
  const ends: number[] = [];
  const latencies: number[] = [];
  const failures: string[] = [];
  const loop = async (client: number) => {
    while (performance.now() < end) {
      try {
        const took = await timed(() => work(client));
        const now = performance.now();
        if (now < begin || now > end) continue;
        ends.push(now);
        latencies.push(took);
      } catch (error) {
        failures.push((error as Error).message);
        await wait(100);
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)));
  const marks = [begin, ...ends, end];
  return {
    runs_per_second: ends.length / (window_ms / 1000),
    latency_ms: spreadOf(latencies),
    errors: failures.length,
    first_error: failures[0] ?? null,
    longest_pause_ms: Math.max(...marks.slice(1).map((mark, index) => mark - (marks[index] as number))),
  };
}
