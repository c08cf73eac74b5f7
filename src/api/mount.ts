import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Endpoint, ReplyKind } from '../contracts/endpoint.ts';
import { AppError } from '../domain/errors.ts';
import type { Caller } from './auth.ts';
import type { Idempotency } from './idempotency.ts';
import { type Frame, sendEvents } from './sse.ts';
import { validated } from './validate.ts';

export interface Upload {
  filename: string;
  content: Buffer;
}

/** What a handler is given, parsed and checked. */
export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  /** The file of an upload. */
  file: Upload;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
  /** Last-Event-ID, where a stream was asked for. */
  last_event_id: string | undefined;
}

export interface PageReply<T> {
  items: T[];
  total: number;
  next: string | null;
}

type Body<B> = B extends z.ZodType ? z.output<B> : undefined;
type Answer<R, K> = K extends 'page'
  ? PageReply<R extends z.ZodType ? z.input<R> : never>
  : K extends 'events'
    ? AsyncIterable<Frame>
    : R extends z.ZodType
      ? z.input<R>
      : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a reply returns nothing
        void;

export type Handler<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType | null,
  R extends z.ZodType | null,
  K extends ReplyKind,
> = (input: Input<z.output<P>, z.output<Q>, Body<B>>, caller: Caller) => Promise<Answer<R, K>>;

/** Where endpoints are mounted; it knows all of them, so that the description is of what is there. */
export interface Api {
  http: FastifyInstance;
  endpoints: Endpoint[];
  idempotency: Idempotency;
}

interface MountOptions {
  /** Reads what If-Match is compared with. */
  current?: (input: Input<never, never, never>, caller: Caller) => Promise<unknown>;
}

type AnyHandler = (input: Input<unknown, unknown, unknown>, caller: Caller) => Promise<unknown>;

/** Mounts an endpoint: its schemas judge what comes in and what leaves; the handler is a function from input to reply. */
export function mount<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType | null,
  R extends z.ZodType | null,
  K extends ReplyKind,
>(api: Api, endpoint: Endpoint<P, Q, B, R, K>, handler: Handler<P, Q, B, R, K>, { current }: MountOptions = {}): void {
  api.endpoints.push(endpoint as unknown as Endpoint);
  const serve = handler as unknown as AnyHandler;
  api.http.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    async handler(request, reply) {
      const input = await inputOf(endpoint, request, reply);
      const { caller } = request;
      if (current) await matched(request, () => current(input as never, caller));
      const work = () => serve(input, caller);
      if (!endpoint.idempotent) return send(endpoint, { request, reply }, await work());
      const { value, replayed } = await api.idempotency(request, work);
      if (replayed) reply.header('idempotent-replayed', 'true');
      return send({ ...endpoint, status: replayed ? 200 : endpoint.status }, { request, reply }, value);
    },
  });
}

async function inputOf(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Input<unknown, unknown, unknown>> {
  const params = endpoint.params.safeParse(request.params);
  if (!params.success) throw new AppError('not_found', `Nothing is at ${request.url.split('?')[0]}: the id has the wrong form`);
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return {
    params: params.data,
    query: validated(endpoint.query, request.query, 'query'),
    body: endpoint.body ? validated(endpoint.body, request.body ?? {}, 'body') : undefined,
    file: endpoint.upload ? await uploadOf(request) : { filename: '', content: Buffer.alloc(0) },
    signal: gone.signal,
    last_event_id: request.headers['last-event-id'] as string | undefined,
  };
}

async function uploadOf(request: FastifyRequest): Promise<Upload> {
  if (!request.isMultipart()) throw new AppError('unsupported', 'Send the file as multipart/form-data, in the field `file`');
  const part = await request.file();
  if (part?.fieldname !== 'file')
    throw new AppError('unprocessable', 'file: Send the file in the field `file`', { code: 'no_file' });
  return { filename: part.filename, content: await part.toBuffer() };
}

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

function send({ kind, reply: schema, status }: Endpoint, { request, reply }: Exchange, answer: unknown): FastifyReply {
  reply.code(status);
  if (kind === 'events') return sendEvents(reply, answer as AsyncIterable<Frame>);
  if (kind === 'none' || !schema) return reply.send();
  if (kind === 'page') return sendPage(schema, { request, reply }, answer as PageReply<unknown>);
  const body = JSON.stringify(schema.parse(answer));
  if (request.method === 'GET') {
    const tag = etagOf(body);
    reply.header('etag', tag);
    if (request.headers['if-none-match'] === tag) return reply.code(304).send();
  } else if (status < 300) reply.header('etag', etagOf(body));
  return reply.type('application/json').send(body);
}

function sendPage(schema: z.ZodType, { request, reply }: Exchange, { items, total, next }: PageReply<unknown>): FastifyReply {
  reply.header('x-total-count', String(total));
  if (next) {
    const url = new URL(request.url, 'http://localhost');
    url.searchParams.set('cursor', next);
    reply.header('link', `<${url.pathname}${url.search}>; rel="next"`);
  }
  return reply.type('application/json').send(JSON.stringify(items.map((item) => schema.parse(item))));
}

const etagOf = (body: string) => `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;

/** 412 unless If-Match names the resource as it is now. */
async function matched(request: FastifyRequest, current: () => Promise<unknown>): Promise<void> {
  const wanted = request.headers['if-match'];
  if (!wanted || wanted === '*') return;
  const now = etagOf(JSON.stringify(await current()));
  const tags = wanted.split(',').map((tag) => tag.trim());
  if (!tags.includes(now))
    throw new AppError('precondition', 'It was changed since you read it; read it again and repeat your change', {
      code: 'changed_meanwhile',
    });
}
