import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChatCompletionRequest, ResponseRequest } from '../../../contracts/compat.ts';
import { AppError } from '../../../domain/errors.ts';
import type { Idempotency } from '../../idempotency.ts';
import { problemOf } from '../../problems.ts';
import { validated } from '../../validate.ts';
import {
  answerText,
  type CompatRun,
  type CompatServices,
  ended,
  hasEnded,
  ownedCompatTask,
  type RunOrder,
  startRun,
  troubleOf,
} from '../runs.ts';
import { promptOf } from './messages.ts';
import { chatChunks, chatCompletion, response, responseEvents, taskIdOfReply } from './replies.ts';

type IdRequest = FastifyRequest<{ Params: { id: string }; Querystring: { stream?: string; starting_after?: string } }>;

/** Agents and workflows as models, in the words of OpenAI's API, so that its clients need no change but the base URL. */
export function openaiRoutes(http: FastifyInstance, services: CompatServices, idempotency: Idempotency): void {
  const begin = beginner(services, idempotency);
  http.setErrorHandler((error: Error, _request, reply) => {
    const { status, detail, code, retry_after_s } = problemOf(error);
    if (retry_after_s !== undefined) reply.header('retry-after', String(Math.ceil(retry_after_s)));
    return reply.code(status).send({ error: { message: detail, type: TYPES[status] ?? 'server_error', code, param: null } });
  });
  http.get('/v1/models', async ({ caller }) => ({ object: 'list', data: await modelsOf(services, caller) }));
  http.post('/v1/chat/completions', (request, reply) => chat(services, begin, { request, reply }));
  http.get('/v1/chat/completions/:id', async ({ params: { id }, caller }: IdRequest) => {
    const task = await ownedCompatTask(services.store, taskIdOfReply(id), caller);
    if (!hasEnded(task))
      throw new AppError('conflict', 'The run is still under way; ask again, or GET /v1/responses/{id}', { code: 'in_progress' });
    refuseTrouble(troubleOf(task));
    return chatCompletion(task, task.agent_name);
  });
  http.post('/v1/responses', (request, reply) => respond(services, begin, { request, reply }));
  http.get('/v1/responses/:id', async (request: IdRequest, reply) => {
    const task = await ownedCompatTask(services.store, taskIdOfReply(request.params.id), request.caller);
    if (request.query.stream !== 'true') return response(task, task.agent_name);
    services.streams(request.caller.key, reply);
    const after = Number(request.query.starting_after ?? -1);
    return streamResponse(services, { task, model: task.agent_name, after }, { request, reply });
  });
  http.post('/v1/responses/:id/cancel', async ({ params: { id }, caller }: IdRequest) => {
    const task = await ownedCompatTask(services.store, taskIdOfReply(id), caller);
    if (!hasEnded(task)) await services.dispatch.halt(task.id);
    return response(await ended(services, placeOf(task), AbortSignal.timeout(CANCEL_MS)), task.agent_name);
  });
}

const CANCEL_MS = 20_000;
const TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'invalid_request_error',
  409: 'conflict_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
};

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

type Begin = (exchange: Exchange, order: RunOrder) => Promise<CompatRun>;

/** Starts a run, once for a request's Idempotency-Key: a repetition is answered from the same run. */
function beginner(services: CompatServices, idempotency: Idempotency): Begin {
  return async ({ request, reply }, order) => {
    const work = (task_id?: string) => startRun(services, { ...order, task_id }, request.caller);
    const { value, replayed } = await idempotency(request, work);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return value as CompatRun;
  };
}

async function chat(services: CompatServices, begin: Begin, { request, reply }: Exchange): Promise<unknown> {
  const body = validated(ChatCompletionRequest, request.body ?? {}, 'body');
  const { model, messages, stream, stream_options, reasoning_effort } = body;
  services.streams(request.caller.key, reply);
  const run = await begin({ request, reply }, { model, prompt: promptOrRefusal(messages), reasoning_effort });
  const gone = goneOf(reply);
  if (!stream) {
    const task = await ended(services, run, gone);
    refuseTrouble(troubleOf(task));
    return chatCompletion(task, model);
  }
  const chunks = chatChunks(run, model, new Date());
  async function* frames() {
    yield data(chunks.first());
    for await (const text of answerText(services, run, gone)) yield data(chunks.text(text));
    const task = await ended(services, run, gone);
    const trouble = troubleOf(task);
    if (trouble) yield data({ error: trouble });
    else yield data(chunks.last());
    if (stream_options?.include_usage) yield data(chunks.usage(task));
    yield 'data: [DONE]\n\n';
  }
  return sendFrames(reply, frames());
}

async function respond(services: CompatServices, begin: Begin, { request, reply }: Exchange): Promise<unknown> {
  const { model, input, instructions, stream, background, reasoning } = validated(ResponseRequest, request.body ?? {}, 'body');
  if (!background || stream) services.streams(request.caller.key, reply);
  const said = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const messages = instructions ? [{ role: 'system', content: instructions }, ...said] : said;
  const order = { model, prompt: promptOrRefusal(messages), reasoning_effort: reasoning?.effort };
  const run = await begin({ request, reply }, order);
  const task = await ownedCompatTask(services.store, run.task_id, request.caller);
  if (stream) return streamResponse(services, { task, model, after: -1 }, { request, reply });
  if (background) return response(task, model);
  return response(await ended(services, run, goneOf(reply)), model);
}

interface Streaming {
  task: Awaited<ReturnType<typeof ownedCompatTask>>;
  model: string;
  /** Events up to this number were received before. */
  after: number;
}

function streamResponse(services: CompatServices, { task, model, after }: Streaming, { reply }: Exchange): FastifyReply {
  const gone = goneOf(reply);
  const run = placeOf(task);
  const events = responseEvents(answerText(services, run, gone), {
    started: task,
    finish: () => ended(services, run, gone),
    model,
  });
  async function* frames() {
    for await (const event of events) if (event.sequence_number > after) yield `event: ${event.type}\n${data(event)}`;
  }
  return sendFrames(reply, frames());
}

const placeOf = (task: { id: string; workflow_id: string }) => ({ task_id: task.id, workflow_id: task.workflow_id });

/** A run goes on when its client goes away; only the waiting ends. */
function goneOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort(new Error('The client has gone away')));
  return gone.signal;
}

function promptOrRefusal(messages: Parameters<typeof promptOf>[0]): string {
  const prompt = promptOf(messages);
  if (prompt?.trim()) return prompt;
  const message = prompt === null ? 'Only text can be sent to an agent' : 'The last message is empty';
  throw new AppError('unprocessable', message, { code: 'unsupported_content' });
}

function refuseTrouble(trouble: ReturnType<typeof troubleOf>): void {
  if (trouble) throw new AppError('upstream', trouble.message, { code: trouble.code });
}

async function modelsOf({ store }: CompatServices, caller: FastifyRequest['caller']) {
  const [agents, workflows] = await Promise.all([
    store.agents.list({ limit: MOST_MODELS }),
    store.workflows.list({ limit: MOST_MODELS, owner: caller.key, single_use: false }),
  ]);
  const model = (id: string, created_at: unknown) => ({
    ...{ id, object: 'model', owned_by: 'perdura' },
    created: Math.floor(new Date(created_at as string).getTime() / 1_000),
  });
  return [
    ...agents.items.map(({ name, created_at }) => model(name, created_at)),
    ...workflows.items.map(({ id, created_at }) => model(id, created_at)),
  ];
}

const MOST_MODELS = 1_000;

const data = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;

const sendFrames = (reply: FastifyReply, frames: AsyncIterable<string>): FastifyReply =>
  reply
    .type('text/event-stream')
    .header('cache-control', 'no-cache')
    .header('x-accel-buffering', 'no')
    .send(Readable.from(frames));
