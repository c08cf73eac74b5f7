import { useSearchParams } from 'react-router';

/** What a list is narrowed to, kept in the address, so that it can be come back to. */
export function useFilters() {
  const [search, setSearch] = useSearchParams();
  const filters: Record<string, string> = Object.fromEntries(search);
  return {
    filters,
    filtered: Object.keys(filters).length > 0,
    set(name: string, value: string) {
      const { [name]: _, ...others } = filters;
      setSearch(value ? { ...others, [name]: value } : others, { replace: true });
    },
    clear: () => setSearch({}, { replace: true }),
  };
}
