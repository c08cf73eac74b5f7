import { useEffect } from 'react';
import { useLocation } from 'react-router';
import { useUrlQuery } from './url-query.ts';

const toStorageKey = (path: string) => `perdura list ${path}`;

/** Returns the address of a list with the filters that it had last in this tab. */
export const lastSeen = (path: string) => `${path}${sessionStorage.getItem(toStorageKey(path)) ?? ''}`;

/** Holds the filters of a list in the URL, so that they can be linked to. Links back to the list lead to its last filters. */
export function useFilters() {
  const { query, set, replace } = useUrlQuery();
  const { pathname } = useLocation();
  useEffect(() => {
    sessionStorage.setItem(toStorageKey(pathname), query.size > 0 ? `?${query}` : '');
  }, [pathname, query]);
  return {
    filters: Object.fromEntries(query) as Record<string, string>,
    filtered: query.size > 0,
    set,
    replace: (values: Record<string, string>) => replace(new URLSearchParams(values)),
    clear: () => replace(new URLSearchParams()),
  };
}
