import {
  keepPreviousData,
  type QueryClient,
  type QueryKey,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import type { Scope } from '../../domain/access.ts';
import type { AnyEndpoint, ApiProblem, ApiReply, CallInput, ResultPage } from './call.ts';
import { useClient } from './context.tsx';

const toQueryKey = (endpoint: AnyEndpoint, input: object) => [endpoint.operation, input];

interface ReadOptions {
  enabled?: boolean;
  /** How often to read what changes with time alone, in milliseconds. Changes of records are reported: see changes.ts. */
  every_ms?: number;
}

interface OneReadOptions<R> extends Pick<ReadOptions, 'enabled'> {
  /** See `ReadOptions`; or how often, or false, for what was read last. */
  every_ms?: number | ((reply: R | undefined) => number | false);
}

export function useRead<E extends AnyEndpoint>(
  endpoint: E,
  input: CallInput<E> = {},
  { enabled = true, every_ms = () => false }: OneReadOptions<ApiReply<E>> = {},
) {
  const { call } = useClient();
  return useQuery<ApiReply<E>, ApiProblem>({
    queryKey: toQueryKey(endpoint, input),
    queryFn: ({ signal }) => call(endpoint, input, signal),
    enabled,
    meta: { path: endpoint.path },
    refetchInterval: typeof every_ms === 'number' ? every_ms : ({ state }) => every_ms(state.data),
  });
}

/** Reads the same endpoint for several inputs; the results are in their order. */
export function useReads<E extends AnyEndpoint>(endpoint: E, inputs: CallInput<E>[]) {
  const { call } = useClient();
  return useQueries({
    queries: inputs.map((input) => ({
      queryKey: toQueryKey(endpoint, input),
      queryFn: ({ signal }: { signal: AbortSignal }): Promise<ApiReply<E>> => call(endpoint, input, signal),
      meta: { path: endpoint.path },
    })),
  }) as Pick<UseQueryResult<ApiReply<E>, ApiProblem>, 'data' | 'error' | 'refetch'>[];
}

type ItemOf<E extends AnyEndpoint> = ApiReply<E> extends ResultPage<infer T> ? T : never;

/** Reads a list, and further pages on request. */
export function useList<E extends AnyEndpoint>(
  endpoint: E,
  query: object = {},
  { every_ms, params }: ReadOptions & Pick<CallInput<E>, 'params'> = {},
) {
  const { call } = useClient();
  const pages = useInfiniteQuery<ResultPage<ItemOf<E>>, ApiProblem>({
    queryKey: toQueryKey(endpoint, { list: query, ...(params && { params }) }),
    queryFn: ({ pageParam, signal }) =>
      call(endpoint, { params, query: { ...query, cursor: pageParam ?? undefined } } as CallInput<E>, signal) as Promise<
        ResultPage<ItemOf<E>>
      >,
    initialPageParam: null,
    getNextPageParam: ({ next }) => next,
    meta: { path: endpoint.path },
    refetchInterval: every_ms ?? false,
    placeholderData: keepPreviousData,
  });
  const items = pages.data?.pages.flatMap((page) => page.items);
  const total = pages.data?.pages[0]?.total ?? 0;
  return { ...pages, items, total, is_counted: total !== (query as { count_to?: number }).count_to };
}

/** True if the id of a record is in the key of a query. */
const names = (queryKey: QueryKey, id: string): boolean => JSON.stringify(queryKey).includes(id);

/**
 * True if a query reads a record that this page is deleting. The deletion is often reported before its own answer is here, and the
 * record would be read once more.
 */
export const isBeingRemoved = (queries: QueryClient, queryKey: QueryKey): boolean =>
  queries
    .getMutationCache()
    .findAll({ status: 'pending' })
    .some(({ meta, state }) => {
      const id = (meta as WorkMeta | undefined)?.findRemovedId?.(state.variables);
      return id !== undefined && names(queryKey, id);
    });

/** What the cache knows of a mutation. */
interface WorkMeta extends Record<string, unknown> {
  operation: string | undefined;
  findRemovedId(input: unknown): string | undefined;
}

interface WorkOptions<I> {
  /** The scope that the mutation needs; null: none. */
  needs?: Scope | null;
  /** Mutations with the same line run one after the other. */
  line?: string;
  /** The name of the operation that the mutation calls. */
  operation?: string;
  /** The id of the record that the mutation deletes. */
  findRemovedId?(input: I): string | undefined;
}

/**
 * Creates a mutation; its buttons set `data-needs={….needs}`. Afterwards all visible data is read again, except for a record
 * that it deleted.
 */
export function useWork<I, R>(
  work: (input: I) => Promise<R>,
  { line, needs, operation, findRemovedId = () => undefined }: WorkOptions<I> = {},
) {
  const queries = useQueryClient();
  const meta: WorkMeta = { operation, findRemovedId: (input) => findRemovedId(input as I) };
  const mutation = useMutation<R, ApiProblem, I>({
    mutationFn: work,
    meta,
    ...(line && { scope: { id: line } }),
    onSettled: (_reply, _problem, input) => {
      const id = findRemovedId(input);
      return queries.invalidateQueries({ predicate: ({ queryKey }) => !id || !names(queryKey, id) });
    },
  });
  return { ...mutation, needs };
}

/** Creates a mutation that calls one endpoint. */
export function useAct<E extends AnyEndpoint>(endpoint: E, { line }: Pick<WorkOptions<CallInput<E>>, 'line'> = {}) {
  const { call } = useClient();
  const removed = ({ params }: CallInput<E>) =>
    endpoint.method === 'DELETE' ? Object.values(params as Record<string, string>).at(-1) : undefined;
  return useWork((input: CallInput<E>) => call(endpoint, input), {
    findRemovedId: removed,
    needs: endpoint.access,
    operation: endpoint.operation,
    ...(line && { line }),
  });
}
