import { startTransition, useOptimistic } from 'react';
import { useLocation, useNavigate, useSearchParams } from 'react-router';

/** What a new entry of the browser's history remembers: the parameter that opened it. */
interface Opened {
  opened?: string;
}

/**
 * Returns the query of the URL and setters. A change is visible immediately and keeps earlier changes. The router alone
 * applies changes in a transition: meanwhile a text field would show its old value and lose letters, and a second change would
 * start from the old query and undo the first.
 *
 * `set` and `replace` change the current entry of the history. `open` adds one, so that *Back* closes what it opened; `close`
 * goes back to before, or removes the parameter if the page was loaded with it.
 */
export function useUrlQuery() {
  const [parameters] = useSearchParams();
  const location = useLocation();
  const navigate = useNavigate();
  const [query, show] = useOptimistic(parameters);
  const { opened } = (location.state as Opened | null) ?? {};
  const go = (next: URLSearchParams, { push = false, state }: { push?: boolean; state?: Opened | undefined } = {}) =>
    startTransition(async () => {
      show(next);
      await navigate(`?${next}`, { replace: !push, state, preventScrollReset: true });
    });
  const change = (name: string, value: string | null) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    return next;
  };
  const keep = opened === undefined ? undefined : { opened };
  const replace = (next: URLSearchParams) => go(next, { state: keep });
  const set = (name: string, value: string | null) => replace(change(name, value));
  return {
    query,
    set,
    replace,
    open: (name: string, value: string) => go(change(name, value), { push: true, state: { opened: name } }),
    close: (name: string) => (opened === name ? void navigate(-1) : set(name, null)),
  };
}
