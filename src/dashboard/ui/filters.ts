import { useSearchParams } from 'react-router';

/** The filters of a list, kept in the URL so that they survive navigation and can be linked to. */
export function useFilters() {
  const [search, setSearch] = useSearchParams();
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
    clear: () => setSearch({}, { replace: true }),
  };
}
