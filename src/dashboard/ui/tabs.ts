import { useSearchParams } from 'react-router';

/** The open tab, kept in the URL so that it can be linked to and survives a reload. The first tab is the default and not in the URL. */
export function useTab<T extends string>(name: string, tabs: readonly [T, ...T[]]) {
  const [search, setSearch] = useSearchParams();
  const value = tabs.find((tab) => tab === search.get(name)) ?? tabs[0];
  const onChange = (next: string | null) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (next && next !== tabs[0]) after.set(name, next);
        else after.delete(name);
        return after;
      },
      { replace: true },
    );
  return { value, onChange };
}
