import { LRUCache } from 'lru-cache';

/** Caches the results for the latest `most` sources. Failures are not cached. */
export function memoize<T>(most: number, make: (source: string) => T): (source: string) => T {
  const cache = new LRUCache<string, { value: T }>({ max: most });
  return (source) => {
    const entry = cache.get(source);
    if (entry) return entry.value;
    const value = make(source);
    cache.set(source, { value });
    return value;
  };
}
