/** Caches the results for the latest `most` sources. Failures are not cached. */
export function remembered<T>(most: number, make: (source: string) => T): (source: string) => T {
  const kept = new Map<string, T>();
  return (source) => {
    const value = kept.has(source) ? (kept.get(source) as T) : make(source);
    kept.delete(source);
    kept.set(source, value);
    if (kept.size > most) kept.delete(kept.keys().next().value as string);
    return value;
  };
}
