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
  /** The form's other fields. */
  fields: Record<string, string>;
}

/** What a handler is given, parsed and checked. */
export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  /** The body as it was sent, for those who tell what they left aside. */
  raw_body: unknown;
  /** The file of an upload. */
  file: Upload;
  /** The id to give what is made, when the request carries an Idempotency-Key. */
  reserved_id: string | undefined;
  /** Does the work once for the request's Idempotency-Key; a repetition is given what it came to. For replies that are streams. */
  once<T>(work: (reserved_id?: string) => Promise<T>): Promise<{ value: T; replayed: boolean }>;
  /** Aborted when the client goes away or the server is to stop. */
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
  /** Aborted when the server is to stop: streams end then. */
  closing: AbortSignal;
}

interface MountOptions {
  /** Reads what If-Match is compared with. */
  current?: (input: Input<never, never, never>, caller: Caller) => Promise<unknown>;
}

const LARGE_BYTES = 25 * 1024 * 1024;

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
    ...(endpoint.large ? { bodyLimit: LARGE_BYTES } : {}),
    async handler(request, reply) {
      const { closing } = api;
      const once = onceOf({ api, endpoint, request, reply });
      const input = { ...(await inputOf(endpoint, { request, reply }, closing)), once };
      const { caller } = request;
      if (current) await matched(request, () => current(input as never, caller));
      const work = (reserved_id?: string) => serve({ ...input, reserved_id }, caller);
      if (endpoint.kind === 'events') return send(endpoint, { request, reply, closing }, await work());
      const { value, replayed } = await input.once(work);
      return send({ ...endpoint, status: replayed ? 200 : endpoint.status }, { request, reply, closing }, value);
    },
  });
}

interface Serving {
  api: Api;
  endpoint: Pick<Endpoint, 'idempotent'>;
  request: FastifyRequest;
  reply: FastifyReply;
}

const onceOf = ({ api, endpoint, request, reply }: Serving): Input<unknown, unknown, unknown>['once'] => {
  return async (work) => {
    if (!endpoint.idempotent) return { value: await work(), replayed: false };
    const { value, replayed } = await api.idempotency(request, work);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return { value: value as Awaited<ReturnType<typeof work>>, replayed };
  };
};

async function inputOf(
  endpoint: Endpoint,
  { request, reply }: Exchange,
  closing: AbortSignal,
): Promise<Omit<Input<unknown, unknown, unknown>, 'once'>> {
  const params = endpoint.params.safeParse(request.params);
  if (!params.success) throw new AppError('not_found', `Nothing is at ${request.url.split('?')[0]}: the id has the wrong form`);
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return {
    params: params.data,
    query: validated(endpoint.query, request.query, 'query'),
    raw_body: request.body,
    body: endpoint.body ? validated(endpoint.body, request.body ?? {}, 'body') : undefined,
    file: endpoint.upload ? await uploadOf(request) : { filename: '', content: Buffer.alloc(0), fields: {} },
    reserved_id: undefined,
    signal: endpoint.kind === 'events' ? AbortSignal.any([gone.signal, closing]) : gone.signal,
    last_event_id: request.headers['last-event-id'] as string | undefined,
  };
}

async function uploadOf(request: FastifyRequest): Promise<Upload> {
  if (!request.isMultipart()) throw new AppError('unsupported', 'Send the file as multipart/form-data, in the field `file`');
  const part = await request.file();
  if (part?.fieldname !== 'file')
    throw new AppError('unprocessable', 'file: Send the file in the field `file`', { code: 'no_file' });
  const content = await part.toBuffer();
  const texts = Object.entries(part.fields).flatMap(([name, field]) =>
    field && 'value' in field && typeof field.value === 'string' ? [[name, field.value]] : [],
  );
  return { filename: part.filename, content, fields: Object.fromEntries(texts) };
}

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

function send(
  { kind, reply: schema, status }: Endpoint,
  { request, reply, closing }: Exchange & { closing: AbortSignal },
  answer: unknown,
): FastifyReply {
  reply.code(status);
  if (kind === 'events') return sendEvents(reply, answer as AsyncIterable<Frame>, closing);
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
