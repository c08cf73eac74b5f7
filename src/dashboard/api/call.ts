import type { z } from 'zod';
import type { Problem as ProblemSchema } from '../../contracts/common.ts';
import type { Endpoint, ReplyKind } from '../../contracts/endpoint.ts';

// biome-ignore lint/suspicious/noExplicitAny: any endpoint value; its schemas are read by inference
export type AnyEndpoint = Endpoint<any, any, any, any, any>;

type InputOf<S> = S extends z.ZodType ? z.input<S> : never;
type OutputOf<S> = S extends z.ZodType ? z.output<S> : never;

export interface CallInput<E extends AnyEndpoint> {
  params?: InputOf<E['params']>;
  query?: InputOf<E['query']>;
  body?: InputOf<E['body']>;
  /** The file of an upload and the other form fields. */
  file?: { content: File; fields?: Record<string, string> };
  /** The ETag that the record must still have to be changed. */
  if_match?: string | null;
  /** The key of a request: a repetition with the same key returns what the first request created. */
  idempotency_key?: string;
}

/** A record that was read or written, with its ETag. */
export interface Tagged<T> {
  value: T;
  tag: string | null;
}

export interface ResultPage<T> {
  items: T[];
  total: number;
  /** The cursor of the next page. */
  next: string | null;
}

type ByKind<K extends ReplyKind, R> = K extends 'page' ? ResultPage<OutputOf<R>> : K extends 'value' ? OutputOf<R> : undefined;
export type ApiReply<E extends AnyEndpoint> = ByKind<E['kind'], E['reply']>;

type ProblemFacts = z.output<typeof ProblemSchema>;

/** The service refused the request, or was unreachable (`status` 0). */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: { path: string; message: string }[];

  constructor({ status, detail, code, errors = [] }: Pick<ProblemFacts, 'status' | 'detail' | 'code' | 'errors'>) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }
}

/** True if the record has changed since it was read. */
export const isStale = (error: unknown) => error instanceof ApiProblem && error.status === 412;

export interface Access {
  token(): string | null;
  /** Changes when the screen passes to another person, who must not send what this one has started. */
  screens?(): number;
  /** Called if the service no longer accepts the token that was sent. Resolves to true if the request is to be sent again. */
  onRefused(token: string | null, signal?: AbortSignal | null): Promise<boolean>;
  /** Called if a write succeeded with warnings. */
  onWarned?(warnings: { path: string; message: string }[]): void;
}

export type Client = ReturnType<typeof createClient>;

export function createClient(access: Access) {
  /** Sends a request and returns its successful response; throws an ApiProblem otherwise. */
  async function send(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const token = access.token();
    const screens = access.screens?.();
    if (token) headers.set('authorization', `Bearer ${token}`);
    const response = await fetch(path, { ...init, headers }).catch((error: Error) => {
      init.signal?.throwIfAborted();
      throw createUnreachableProblem(error);
    });
    if (response.ok) return response;
    const problem = await parseProblem(response);
    // A request that was refused has done nothing, so it can be sent again.
    const may_repeat = problem.status === 401 && (await access.onRefused(token, init.signal));
    if (may_repeat && access.screens?.() === screens) return send(path, init);
    throw problem;
  }

  async function tagged<E extends AnyEndpoint>(
    endpoint: E,
    input: CallInput<E> = {},
    signal?: AbortSignal,
  ): Promise<Tagged<ApiReply<E>>> {
    const response = await send(requestUrl(endpoint, input), { ...buildRequest(endpoint, input), signal: signal ?? null });
    const value = (await parseReply(endpoint, response)) as ApiReply<E>;
    // An import result has warnings too, but shows its own report.
    const { warnings, errors } = Object(value) as { warnings?: []; errors?: unknown };
    if (endpoint.method !== 'GET' && warnings?.length && !errors && endpoint.operation !== 'query_knowledge')
      access.onWarned?.(warnings);
    return { value, tag: parseEtag(response) };
  }

  return {
    send,
    tagged,
    call: async <E extends AnyEndpoint>(endpoint: E, input?: CallInput<E>, signal?: AbortSignal): Promise<ApiReply<E>> =>
      (await tagged(endpoint, input, signal)).value,
  };
}

/** Reads the ETag. A compressing proxy makes the tag weak, but it still identifies the same state. */
const parseEtag = ({ headers }: Response) => headers.get('etag')?.replace(/^W\//, '') ?? null;

export function requestUrl<E extends AnyEndpoint>({ path }: E, { params, query }: CallInput<E>): string {
  const values = (params ?? {}) as Record<string, string>;
  const url_path = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name]!));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>))
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  return search.size > 0 ? `${url_path}?${search}` : url_path;
}

export function buildRequest<E extends AnyEndpoint>(
  { method }: E,
  { body, file, if_match, idempotency_key: key }: CallInput<E>,
): RequestInit {
  if (file) {
    const form = new FormData();
    for (const [name, value] of Object.entries(file.fields ?? {})) form.set(name, value);
    form.set('file', file.content);
    return { method, body: form };
  }
  if (body === undefined) return { method };
  const condition = { ...(if_match && { 'if-match': if_match }), ...(key && { 'idempotency-key': key }) };
  return { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...condition } };
}

async function parseReply({ kind }: AnyEndpoint, response: Response): Promise<unknown> {
  if (kind === 'none' || response.status === 204) return undefined;
  const body = await response.json();
  if (kind !== 'page') return body;
  const next = /<([^<>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  const cursor = next ? new URL(next, location.origin).searchParams.get('cursor') : null;
  return { items: body, total: Number(response.headers.get('x-total-count')), next: cursor };
}

async function parseProblem(response: Response): Promise<ApiProblem> {
  const body = (await response.json().catch(() => null)) as ProblemFacts | null;
  if (body && typeof body.detail === 'string') return new ApiProblem({ ...body, status: response.status });
  const detail = `The service returned ${response.status}. See its log for the cause.`;
  return new ApiProblem({ status: response.status, code: 'unexplained', detail });
}

const createUnreachableProblem = (_: Error) =>
  new ApiProblem({
    status: 0,
    code: 'unreachable',
    detail: 'The service cannot be reached. Check that it is running.',
  });
