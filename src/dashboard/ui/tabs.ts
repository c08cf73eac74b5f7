import { useUrlQuery } from './url-query.ts';

/**
 * Holds the open tab in the URL, so that it can be linked to and survives a reload. The first tab is the default and is not in
 * the URL.
 */
export function useTab<T extends string>(name: string, tabs: readonly [T, ...T[]]) {
  const { query, set } = useUrlQuery();
  const value = tabs.find((tab) => tab === query.get(name)) ?? tabs[0];
  return { value, onChange: (next: string | null) => set(name, next === tabs[0] ? null : next) };
}
