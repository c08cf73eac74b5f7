import { LRUCache } from 'lru-cache';

/** Caches the results for the latest `most` sources. Failures are not cached. */
export function memoize<T>(most: number, make: (source: string) => T): (source: string) => T {
  const kept = new LRUCache<string, { value: T }>({ max: most });
  return (source) => {
    const known = kept.get(source);
    if (known) return known.value;
    const value = make(source);
    kept.set(source, { value });
    return value;
  };
}
