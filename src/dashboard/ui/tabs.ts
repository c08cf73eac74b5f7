import { useUrlQuery } from './url-query.ts';

/**
 * Holds the open tab in the URL, so that it can be linked to and survives a reload. The first tab is the default and is not in
 * the URL. With `back`, *Back* leads from another tab to the first one before it leaves the screen.
 */
export function useTab<T extends string>(name: string, tabs: readonly [T, ...T[]], { back = false } = {}) {
  const { query, set, open, close } = useUrlQuery();
  const value = tabs.find((tab) => tab === query.get(name)) ?? tabs[0];
  const onChange = (next: string | null) => {
    if (next === tabs[0] || next === null) return close(name);
    return back && value === tabs[0] ? open(name, next) : set(name, next);
  };
  return { value, onChange };
}
