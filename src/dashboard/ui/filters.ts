import { useEffect } from 'react';
import { useLocation, useSearchParams } from 'react-router';

const placeOf = (path: string) => `perdura list ${path}`;

/** The address of a list with the filters that it had last in this tab. */
export const lastSeen = (path: string) => `${path}${sessionStorage.getItem(placeOf(path)) ?? ''}`;

/** The filters of a list, kept in the URL so that they can be linked to. Links back to the list lead to those it had last. */
export function useFilters() {
  const [search, setSearch] = useSearchParams();
  const { pathname } = useLocation();
  useEffect(() => {
    sessionStorage.setItem(placeOf(pathname), search.size > 0 ? `?${search}` : '');
  }, [pathname, search]);
  const filters: Record<string, string> = Object.fromEntries(search);
  return {
    filters,
    filtered: Object.keys(filters).length > 0,
    set(name: string, value: string) {
      setSearch(
        (before) => {
          const { [name]: _, ...others } = Object.fromEntries(before);
          return value ? { ...others, [name]: value } : others;
        },
        { replace: true },
      );
    },
    replace: (values: Record<string, string>) => setSearch(values, { replace: true }),
    clear: () => setSearch({}, { replace: true }),
  };
}
