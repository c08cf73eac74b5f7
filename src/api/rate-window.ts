import type { FastifyRateLimitStore } from '@fastify/rate-limit';

interface Count {
  current: number;
  until: number;
}

const MOST_KEPT = 5_000;

/**
 * Counts the requests of each caller within a time window. The one that comes with the plugin measures the window with the clock of the
 * machine: set back by a day, it refuses callers for a day.
 */
export class RateWindow implements FastifyRateLimitStore {
  private readonly counts = new Map<string, Count>();

  incr(key: string, done: (error: Error | null, result?: { current: number; ttl: number }) => void, window_ms = 60_000): void {
    const now = performance.now();
    const known = this.counts.get(key);
    const count = known && known.until > now ? known : { current: 0, until: now + window_ms };
    count.current += 1;
    // Last, so that the first one is the one that was not used for the longest time.
    this.counts.delete(key);
    this.counts.set(key, count);
    if (this.counts.size > MOST_KEPT) this.counts.delete(this.counts.keys().next().value as string);
    done(null, { current: count.current, ttl: count.until - now });
  }

  child(): FastifyRateLimitStore {
    return new RateWindow();
  }
}
