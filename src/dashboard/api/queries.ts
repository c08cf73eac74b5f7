import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { AnyEndpoint, Input, Page, Problem, Reply } from './call.ts';
import { useClient } from './context.tsx';

const keyOf = (endpoint: AnyEndpoint, input: object) => [endpoint.operation, input];

interface ReadOptions {
  enabled?: boolean;
  /** Ask again every so many milliseconds. */
  every_ms?: number;
}

export function useRead<E extends AnyEndpoint>(
  endpoint: E,
  input: Input<E> = {},
  { enabled = true, every_ms }: ReadOptions = {},
) {
  const { call } = useClient();
  return useQuery<Reply<E>, Problem>({
    queryKey: keyOf(endpoint, input),
    queryFn: ({ signal }) => call(endpoint, input, signal),
    enabled,
    refetchInterval: every_ms ?? false,
  });
}

type ItemOf<E extends AnyEndpoint> = Reply<E> extends Page<infer T> ? T : never;

/** A list whose further pages are fetched when they are asked for. */
export function useList<E extends AnyEndpoint>(endpoint: E, query: object = {}, { every_ms }: ReadOptions = {}) {
  const { call } = useClient();
  const pages = useInfiniteQuery<Page<ItemOf<E>>, Problem>({
    queryKey: keyOf(endpoint, { list: query }),
    queryFn: ({ pageParam, signal }) =>
      call(endpoint, { query: { ...query, cursor: pageParam ?? undefined } } as never, signal) as never,
    initialPageParam: null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: every_ms ?? false,
    placeholderData: keepPreviousData,
  });
  const items = pages.data?.pages.flatMap((page) => page.items);
  return { ...pages, items, total: pages.data?.pages[0]?.total ?? 0 };
}

interface Order {
  /** Those of the same line are sent one after the other. */
  line?: string;
}

/** An operation that changes something: all that is on show is read again after it, but for what it has removed. */
export function useAct<E extends AnyEndpoint>(endpoint: E, order: Order = {}) {
  const { call } = useClient();
  return useActing(endpoint, call<E>, order);
}

/** As `useAct`, with the tag of the state that came of it. */
export function useTaggedAct<E extends AnyEndpoint>(endpoint: E) {
  const { tagged } = useClient();
  return useActing(endpoint, tagged<E>);
}

function useActing<E extends AnyEndpoint, R>(
  endpoint: E,
  act: (endpoint: E, input: Input<E>) => Promise<R>,
  { line }: Order = {},
) {
  const queries = useQueryClient();
  return useMutation<R, Problem, Input<E>>({
    mutationFn: (input) => act(endpoint, input),
    ...(line && { scope: { id: line } }),
    onSettled: (_reply, _problem, { params }) => {
      const removed = endpoint.method === 'DELETE' ? Object.values((params ?? {}) as object).at(-1) : null;
      return queries.invalidateQueries({ predicate: ({ queryKey }) => !removed || !JSON.stringify(queryKey).includes(removed) });
    },
  });
}
