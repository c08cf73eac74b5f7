import { z } from 'zod';
import type { Scope } from '../domain/access.ts';
import { FilterQuery, Id } from './common.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The form of a reply: one JSON value, a page of a list, a stream of server-sent events, a file, or nothing. */
export type ReplyKind = 'value' | 'page' | 'events' | 'file' | 'none';

export interface Endpoint<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType | null = z.ZodType | null,
  R extends z.ZodType | null = z.ZodType | null,
  K extends ReplyKind = ReplyKind,
> {
  method: Method;
  /** The path in OpenAPI's spelling, such as `/api/skills/{id}`. */
  path: string;
  operation: string;
  tag: string;
  summary: string;
  description?: string;
  /** The scope that the caller needs; null: anyone may call, without an access token. */
  access: Scope | null;
  /** True if requests are recorded in the audit; this may depend on their body. */
  audited: boolean | ((body: unknown) => boolean);
  params: P;
  query: Q;
  /** The schema of the request's body; null: it has none. */
  body: B;
  /** True if the request is multipart with one field `file`, instead of a JSON body. */
  upload?: boolean;
  /** The further fields of an uploaded form. */
  form?: z.ZodObject;
  /** The allow-list for replies: keys that are not in it are dropped. For a page, this is the schema of one item. */
  reply: R;
  kind: K;
  status: number;
  /** The statuses with which this operation refuses requests, in addition to those of every operation. */
  refuses: number[];
  /** True if the operation honours an Idempotency-Key. */
  idempotent: boolean;
  /** True if the body may be as large as an upload. */
  large?: boolean;
  /** True if the handler gets the integers of the body exactly as they were sent, parsed by `parseExact`. */
  exact?: boolean;
  /** True if the JSON of the body may have comments and trailing commas. */
  commented?: boolean;
  /** True if the operation changes a record that everybody may read, so that everybody's stream of changes reports it. */
  shared?: boolean;
  /** True if the body is stored and so counts towards its sender's storage limit; this may depend on the body. */
  stores?: boolean | ((body: unknown) => boolean);
  /** The schema of one frame of the stream, if the operation can answer with a stream. */
  streamed?: z.ZodType;
  /** True if the stream continues after the event that Last-Event-ID names, and answers 204 if nothing follows. */
  resumable?: boolean;
  /** The headers that its streams have besides those of every stream. */
  headers?: Record<string, string>;
  /**
   * True if the connection is cut when the server stops: the client takes a stream that ends for a complete message, and connects again
   * only after a connection that broke.
   */
  cut_on_close?: boolean;
  /** The schema of refusals, if they do not have the form of problem details. */
  refusal?: z.ZodType;
  /** The schema of what is answered with 202 instead, if the request may be accepted without making what the operation makes. */
  accepts?: z.ZodType;
  /** True if the operation answers 202 without a body to a message that needs no answer. */
  notifiable?: boolean;
}

const None = z.object({});
type None = typeof None;

interface Facts<P, Q, B, R, K> {
  operation: string;
  tag: string;
  summary: string;
  description?: string;
  /** The scope that the caller needs; by default `read` for GET and `write` for the other methods. */
  access?: Scope | null;
  /** By default, everything but reading is audited. */
  audited?: Endpoint['audited'];
  params?: P;
  query?: Q;
  body?: B;
  upload?: boolean;
  form?: z.ZodObject;
  reply?: R;
  kind?: K;
  status?: number;
  refuses?: number[];
  idempotent?: boolean;
  large?: boolean;
  exact?: boolean;
  commented?: boolean;
  shared?: boolean;
  stores?: Endpoint['stores'];
  streamed?: z.ZodType;
  resumable?: boolean;
  headers?: Record<string, string>;
  cut_on_close?: boolean;
  refusal?: z.ZodType;
  accepts?: z.ZodType;
  notifiable?: boolean;
}

/**
 * Declares an endpoint: `endpoint('GET /api/skills/{id}', {...})`. Parameters named in the path are ids unless declared
 * otherwise.
 */
export function endpoint<
  P extends z.ZodType = z.ZodType<{ [name: string]: string }>,
  Q extends z.ZodType = None,
  B extends z.ZodType | null = null,
  R extends z.ZodType | null = null,
  K extends ReplyKind = R extends z.ZodType ? 'value' : 'none',
>(route: `${Method} /${string}`, facts: Facts<P, Q, B, R, K>): Endpoint<P, Q, B, R, K> {
  const [method, path] = route.split(' ') as [Method, string];
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, Id]);
  const kind = facts.kind ?? (facts.reply ? 'value' : 'none');
  const access = facts.access === undefined ? (method === 'GET' ? 'read' : 'write') : facts.access;
  return {
    refuses: [],
    idempotent: false,
    audited: access !== 'read',
    ...facts,
    access,
    method,
    path,
    params: facts.params ?? (z.object(Object.fromEntries(names)) as unknown as P),
    query: facts.query ?? (None as unknown as Q),
    body: (facts.body ?? null) as B,
    reply: (facts.reply ?? null) as R,
    kind: kind as K,
    status: facts.status ?? (kind === 'none' ? 204 : 200),
  };
}

export const IdParams = z.object({ id: Id });

export const isUpload = ({ upload, large }: Pick<Endpoint, 'upload' | 'large'>) => Boolean(upload || large);

/** True if the content of a request counts towards its sender's storage limit. */
export const storesInput = ({ stores = false, ...endpoint }: Endpoint, body: unknown) =>
  isUpload(endpoint) || (typeof stores === 'function' ? stores(body) : stores);

/**
 * True if the operation's reply is an object that may carry warnings about its request; other operations send them in a header.
 */
export const carriesWarnings = ({ kind, reply, path }: Endpoint) =>
  path.startsWith('/api/') && kind === 'value' && reply instanceof z.ZodObject;

interface CrudFacts {
  /** The path of the collection, such as `/api/skills`. */
  path: string;
  /** The singular noun for people, such as `skill`. */
  noun: string;
  /** The plural, if it is not the noun with an s. */
  plural?: string;
  tag: string;
  /** True if everybody may read the records. */
  shared?: boolean;
}

/** Declares the five operations that every stored resource has. */
export function crud<R extends z.ZodType, C extends z.ZodType, U extends z.ZodType, Q extends z.ZodType = typeof FilterQuery>(
  { path, noun, plural = `${noun}s`, tag, shared = false }: CrudFacts,
  schemas: { record: R; create: C; update: U; query?: Q },
) {
  const one = `${path}/{id}` as `/${string}`;
  const toSnakeCase = (words: string) => words.toLowerCase().replaceAll(' ', '_');
  const name = toSnakeCase(noun);
  const article = /^(?:[aeiou]|MCP)/i.test(noun) ? 'an' : 'a';
  const base = { tag, reply: schemas.record };
  return {
    noun,
    list: endpoint(`GET ${path as `/${string}`}`, {
      ...base,
      operation: `list_${toSnakeCase(plural)}`,
      summary: `List ${plural}, newest first`,
      query: (schemas.query ?? FilterQuery) as Q,
      kind: 'page',
    }),
    create: endpoint(`POST ${path as `/${string}`}`, {
      ...base,
      operation: `create_${name}`,
      summary: `Create ${article} ${noun}`,
      body: schemas.create,
      status: 201,
      refuses: [409, 413],
      idempotent: true,
      shared,
      stores: true,
    }),
    get: endpoint(`GET ${one}`, { ...base, operation: `get_${name}`, summary: `Get ${article} ${noun}`, params: IdParams }),
    update: endpoint(`PUT ${one}`, {
      ...base,
      operation: `update_${name}`,
      summary: `Change ${article} ${noun}`,
      description: 'A field left out is unchanged; a null clears a field that may be null.',
      params: IdParams,
      body: schemas.update,
      refuses: [409, 412, 413],
      shared,
      stores: true,
    }),
    remove: endpoint(`DELETE ${one}`, {
      tag,
      operation: `delete_${name}`,
      summary: `Delete ${article} ${noun}`,
      params: IdParams,
      refuses: [409, 412],
      shared,
    }),
  };
}
