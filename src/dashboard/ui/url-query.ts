import { startTransition, useOptimistic } from 'react';
import { useNavigate, useSearchParams } from 'react-router';

/**
 * Returns the query of the URL and a setter. A change is visible immediately and keeps earlier changes. The router alone
 * applies changes in a transition: meanwhile a text field would show its old value and lose letters, and a second change would
 * start from the old query and undo the first.
 */
export function useUrlQuery() {
  const [parameters] = useSearchParams();
  const navigate = useNavigate();
  const [query, show] = useOptimistic(parameters);
  const replace = (next: URLSearchParams) =>
    startTransition(async () => {
      show(next);
      await navigate(`?${next}`, { replace: true });
    });
  const set = (name: string, value: string | null) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    replace(next);
  };
  return { query, set, replace };
}
