import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { carriesWarnings, type Endpoint, isUpload, type ReplyKind, storesInput } from '../../contracts/endpoint.ts';
import { AppError } from '../../domain/errors.ts';
import type { PublishChange } from '../../events/changes.ts';
import type { StreamBudget } from '../../events/waiting.ts';
import type { Caller } from '../../identity/caller.ts';
import { refuseUnpermitted } from '../checks/permission.ts';
import { type AuditTrail, getMadeId, noteMade } from '../service/audit-trail.ts';
import { toChange } from '../service/written-changes.ts';
import type { WatchToken } from '../sign-in/token-ends.ts';
import { AcceptedReply, isAccepted } from './accepted-reply.ts';
import { checkIfMatch, computeEtag, serializeRecord } from './etags.ts';
import { checkUnknownFields, findUnknownFields } from './fields.ts';
import { FileReply, sendFile } from './file-reply.ts';
import type { Gate } from './gate.ts';
import type { Idempotency } from './idempotency.ts';
import { createDisconnectSignal, createEndSignal } from './reply-ends.ts';
import { addOtherNames, needsRecord } from './spellings.ts';
import { type Frames, sendEvents } from './sse.ts';
import { NO_UPLOAD, parseUpload, type Upload } from './uploads.ts';
import { parseQuery, parseWithWarnings, toReply } from './validate.ts';
import { createWarnings, getShape, getWarnings, type Warnings, withWarnings } from './warnings.ts';

/** The parsed and validated input of a handler. */
export interface RouteInput<P, Q, B> extends Warnings {
  params: P;
  query: Q;
  body: B;
  /** The uploaded file. */
  file: Upload;
  /** The id of the record to create, if the request has an Idempotency-Key. */
  reserved_id: string | undefined;
  /** The number of this try, if the request has an Idempotency-Key. */
  claim: number | undefined;
  /** Does the work once per Idempotency-Key; a repeated request gets the same result. Use it for replies that may be streams. */
  once<T>(work: (reserved_id?: string, claim?: number) => Promise<T>): Promise<{ value: T; replayed: boolean }>;
  /** Takes one of the caller's stream slots until the reply ends; throws if none is free. Use it for replies that wait. */
  holdOpen(): void;
  /** Aborted when the client disconnects; for a stream, also when the server stops. */
  signal: AbortSignal;
  /** The Last-Event-ID header of a stream request. */
  last_event_id: string | undefined;
}

interface PageReply<T> {
  items: T[];
  total: number;
  next: string | null;
}

/** A server-sent event reply of an operation that can also return a value. `frames` gets the signal of a stream. */
export class EventReply {
  readonly frames: (signal: AbortSignal) => Frames;
  /** The id of the record that was created or started for the stream. */
  readonly made_id: string | null;
  constructor(frames: EventReply['frames'], made_id: string | null = null) {
    this.frames = frames;
    this.made_id = made_id;
  }
}

/** A reply that a protocol library writes to the connection itself. */
export class RawReply {
  readonly write: (request: FastifyRequest['raw'], response: FastifyReply['raw']) => Promise<void>;
  constructor(write: RawReply['write']) {
    this.write = write;
  }
}

type Body<B> = B extends z.ZodType ? z.output<B> : undefined;
type Answer<R, K> = K extends 'page'
  ? PageReply<R extends z.ZodType ? z.input<R> : never>
  : K extends 'events' | 'file'
    ? { events: Frames | null; file: FileReply }[K]
    : R extends z.ZodType
      ? z.input<R> | EventReply | RawReply | AcceptedReply
      : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a reply returns nothing
        void;

type Handler<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType | null,
  R extends z.ZodType | null,
  K extends ReplyKind,
> = (input: RouteInput<z.output<P>, z.output<Q>, Body<B>>, caller: Caller) => Promise<Answer<R, K>>;

/** The place where endpoints are mounted. It records all of them, and OpenAPI is generated from that record. */
export interface Api {
  http: FastifyInstance;
  endpoints: Endpoint[];
  idempotency: Idempotency;
  /** Aborted when the server stops, which ends the streams. */
  closing: AbortSignal;
  gates: Gates;
  audit: AuditTrail;
  publishChange: PublishChange;
  watchToken: WatchToken;
  /** Counts the bytes that wait for the clients of open streams. */
  waiting: StreamBudget;
}

/** Limits on open streams, uploads and storage; each throws to refuse. */
export interface Gates {
  streams: Gate;
  uploads: Gate;
  admitBytes(owner: string, bytes: number): Promise<void>;
}

interface MountOptions<P extends z.ZodType> {
  /** Loads the current record for If-Match. */
  current?: (input: { params: z.output<P> }, caller: Caller) => Promise<unknown>;
}

/** The limit of a JSON body in bytes: a larger one would block the main thread for too long. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** Mounts an endpoint: its schemas validate input and reply; the handler is a function from input to reply. */
export function mount<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType | null,
  R extends z.ZodType | null,
  K extends ReplyKind,
>(api: Api, endpoint: Endpoint<P, Q, B, R, K>, handler: Handler<P, Q, B, R, K>, { current }: MountOptions<P> = {}): void {
  api.endpoints.push(endpoint);
  api.http.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    ...(endpoint.large ? { bodyLimit: LARGE_BYTES } : {}),
    config: { operation: endpoint.operation, exact: endpoint.exact === true, commented: endpoint.commented === true },
    async onRequest(request, reply) {
      refuseUnpermitted(endpoint, request.caller);
      if (isUpload(endpoint)) api.gates.uploads(request.caller.key, reply);
    },
    async onSend(request, reply) {
      const answer = { status: reply.statusCode, made_id: getMadeId(reply) };
      const change = toChange(endpoint, request, answer);
      try {
        await api.audit.record(endpoint, request, answer);
      } finally {
        // The write is committed, with or without its entry.
        if (change) api.publishChange(change);
      }
    },
    async handler(request, reply) {
      const { gates, waiting } = api;
      const { caller } = request;
      const streams = endpoint.kind === 'events' || endpoint.streamed !== undefined;
      const closing = streams ? AbortSignal.any([api.closing, api.watchToken(caller, reply)]) : api.closing;
      const holdOpen = () => {
        gates.streams(caller.key, reply);
        reply.raw.once('close', waiting.watch(reply.raw));
      };
      if (endpoint.kind === 'events') holdOpen();
      const once = buildOnce({ api, endpoint, request, reply });
      const now = async (params: z.output<P>) => current?.({ params }, caller);
      const input = { ...(await parseInput(endpoint, { request, reply, now }, closing)), once, holdOpen };
      if (storesInput(endpoint, input.body)) await gates.admitBytes(caller.key, countBytes(input.file, request.body));
      await checkIfMatch(endpoint, { request, input }, current && (() => current(input, caller)));
      const work = async (reserved_id?: string, claim?: number): Promise<unknown> =>
        handler({ ...input, reserved_id, claim }, caller);
      if (streams) {
        const answer = await auditStream(api, { endpoint, request }, await work());
        setWarningsHeader(reply, input);
        return send(endpoint, { request, reply, closing, waiting }, answer);
      }
      const { value, replayed } = await input.once(async (reserved_id, claim) => {
        const answer = AcceptedReply.unwrap(await work(reserved_id, claim));
        return carriesWarnings(endpoint) ? withWarnings(answer, input) : answer;
      });
      if (!carriesWarnings(endpoint)) setWarningsHeader(reply, input);
      const described = isAccepted(endpoint, value) ? { ...endpoint, reply: endpoint.accepts!, status: 202 } : endpoint;
      return send({ ...described, status: replayed ? 200 : described.status }, { request, reply, closing, waiting }, value);
    },
  });
}

/** Records a stream in the audit before it starts, because streams bypass the `onSend` hook. */
async function auditStream(
  { audit }: Api,
  { endpoint, request }: { endpoint: Endpoint; request: FastifyRequest },
  answer: unknown,
): Promise<unknown> {
  const streams = endpoint.kind === 'events' || answer instanceof EventReply || answer instanceof RawReply;
  const made_id = answer instanceof EventReply ? answer.made_id : null;
  if (streams) await audit.record(endpoint, request, { status: endpoint.status, made_id });
  return answer;
}

const countBytes = ({ content }: Upload, body: unknown): number =>
  content.length || Buffer.byteLength(JSON.stringify(body ?? null));

/** Sends warnings as a header, for replies that are not objects. Header values must be ASCII. */
function setWarningsHeader(reply: FastifyReply, { warnings }: Warnings): void {
  const escapeChar = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  if (warnings.length > 0) reply.header('x-warnings', JSON.stringify(warnings).replaceAll(/[^\x20-\x7e]/g, escapeChar));
}

interface Serving {
  api: Api;
  endpoint: Pick<Endpoint, 'idempotent'>;
  request: FastifyRequest;
  reply: FastifyReply;
}

const buildOnce = ({ api, endpoint, request, reply }: Serving): RouteInput<unknown, unknown, unknown>['once'] => {
  return async (work) => {
    if (!endpoint.idempotent) return { value: await work(), replayed: false };
    const { value, replayed } = await api.idempotency(request, work);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return { value: value as Awaited<ReturnType<typeof work>>, replayed };
  };
};

async function parseInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType | null>(
  endpoint: Endpoint<P, Q, B>,
  { request, reply, now }: Exchange & { now: (params: z.output<P>) => Promise<unknown> },
  closing: AbortSignal,
): Promise<Omit<RouteInput<z.output<P>, z.output<Q>, Body<B>>, 'once' | 'holdOpen'>> {
  const params = endpoint.params.safeParse(request.params);
  if (!params.success) throw new AppError('not_found', `Not found: ${request.url.split('?')[0]} does not contain a valid id`);
  const warnings = createWarnings(request, reply);
  const query = parseQuery(endpoint.query, request.query);
  const { reply: record_schema, large = false } = endpoint;
  const options = { what: 'body', record_schema, keeps_nulls: /^(PUT|PATCH)$/.test(endpoint.method), large };
  const record = endpoint.body && needsRecord(endpoint.body, request.body) ? await now(params.data) : undefined;
  const body = endpoint.body ? parseWithWarnings(endpoint.body, request.body ?? {}, { ...options, now: record }) : null;
  const read = endpoint.path.startsWith('/api/') ? (request.rounded ?? []) : [];
  warnings.warn(...query.warnings, ...(body?.warnings ?? []), ...read);
  const file = endpoint.upload ? await parseUpload(request) : NO_UPLOAD;
  warnings.warn(...checkUnknownFields(findUnknownFields(endpoint.form ?? z.object({}), file.fields)));
  return {
    ...warnings,
    params: params.data,
    query: query.value,
    body: body?.value as Body<B>,
    file,
    reserved_id: undefined,
    claim: undefined,
    signal: endpoint.kind === 'events' ? AbortSignal.any([createEndSignal(reply), closing]) : createDisconnectSignal(reply),
    last_event_id: request.headers['last-event-id'] as string | undefined,
  };
}

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

function send(
  { kind, reply: schema, status, headers = {}, cut_on_close = false }: Endpoint,
  { request, reply, closing, waiting }: Exchange & Pick<Api, 'closing' | 'waiting'>,
  answer: unknown,
): FastifyReply | Promise<void> {
  if (answer instanceof RawReply) return answer.write(request.raw, reply.hijack().raw);
  reply.code(status);
  if (answer instanceof EventReply) {
    const disconnect = createDisconnectSignal(reply);
    return sendEvents(reply, answer.frames(AbortSignal.any([disconnect, closing])), { disconnect, closing, waiting });
  }
  // Nothing follows. Without the 204, a browser would reconnect again and again.
  if (kind === 'events' && answer === null) return reply.code(204).send();
  if (kind === 'events')
    return sendEvents(reply.headers(headers), answer as Frames, {
      disconnect: createDisconnectSignal(reply),
      closing,
      waiting,
      cut_on_close,
    });
  if (answer instanceof FileReply) return sendFile(reply, answer);
  if (kind === 'none' || !schema) return reply.send();
  if (kind === 'page') return sendPage(schema, { request, reply }, answer as PageReply<unknown>);
  const record = toReply(schema, answer);
  noteMade(reply, record);
  const reply_body = addOtherNames(schema, record);
  const tag = computeEtag(serializeRecord(record));
  if (request.method === 'GET' && request.headers['if-none-match'] === tag && !('needs' in getShape(schema)))
    return reply.header('etag', tag).code(304).send();
  reply.header('etag', tag);
  const warnings = getWarnings(answer);
  // The ETag covers only the record: warnings belong to one request.
  return reply
    .type('application/json')
    .send(JSON.stringify(warnings.length > 0 ? { ...(reply_body as object), warnings } : reply_body));
}

function sendPage(schema: z.ZodType, { request, reply }: Exchange, { items, total, next }: PageReply<unknown>): FastifyReply {
  reply.header('x-total-count', String(total));
  if (next) {
    const url = new URL(request.url, 'http://localhost');
    url.searchParams.set('cursor', next);
    reply.header('link', `<${url.pathname}${url.search}>; rel="next"`);
  }
  return reply.type('application/json').send(JSON.stringify(items.map((item) => addOtherNames(schema, toReply(schema, item)))));
}
