/** Keeps what was made of the latest `most` sources. What could not be made is tried again. */
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
