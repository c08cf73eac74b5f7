import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import { LRUCache } from 'lru-cache';

interface Count {
  current: number;
  until: number;
}

const MOST_KEPT = 5_000;

/**
 * Counts the requests of each caller within a time window. The plugin's default store measures the window by the machine's clock:
 * if that is set back by a day, the store refuses callers for a day.
 */
export class RateWindow implements FastifyRateLimitStore {
  private readonly counts = new LRUCache<string, Count>({ max: MOST_KEPT });

  incr(key: string, done: (error: Error | null, result?: { current: number; ttl: number }) => void, window_ms = 60_000): void {
    const now = performance.now();
    const previous = this.counts.get(key);
    const count = previous && previous.until > now ? previous : { current: 0, until: now + window_ms };
    count.current += 1;
    this.counts.set(key, count);
    done(null, { current: count.current, ttl: count.until - now });
  }

  child(): FastifyRateLimitStore {
    return new RateWindow();
  }
}
