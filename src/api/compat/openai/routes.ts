import type { FastifyError, FastifyReply } from 'fastify';
import { ChatCompletionRequest, compat, ResponseRequest, type ScoreMetadata } from '../../../contracts/compat.ts';
import { THUMBS } from '../../../contracts/scores.ts';
import { INSTRUCTIONS, promptOfConversation, type SaidMessage } from '../../../domain/conversation.ts';
import { AppError } from '../../../domain/errors.ts';
import type { Caller } from '../../../identity/caller.ts';
import { ownedTask } from '../../checks/owned.ts';
import { madeOnce } from '../../http/crud.ts';
import { type Api, EventReply, mount, type RouteInput } from '../../http/mount.ts';
import {
  headRefusal,
  logFault,
  methodsAt,
  type ProblemFacts,
  problemOf,
  unknownRoute,
  wrongMethod,
} from '../../http/problems.ts';
import type { SseFrame } from '../../http/sse.ts';
import { answerText, callsOfClient, rested } from '../client-calls.ts';
import {
  begunRun,
  type CompatRun,
  type CompatServices,
  type CompatTask,
  ended,
  hasEnded,
  type RunOrder,
  startRun,
  troubleOf,
} from '../runs.ts';
import { clientToolsIn, continuedRun, outputsIn } from './client-tools.ts';
import { beforeInput, continuedIn } from './context.ts';
import { conversationRoutes } from './conversations.ts';
import { inTheirPlaces, type PlacedFile } from './files.ts';
import { schemaAsked } from './formats.ts';
import { saidIn } from './messages.ts';
import { modelOf, modelsOf } from './models.ts';
import { refuseUnhonoured } from './parameters.ts';
import { chatChunks, chatCompletion, response, responseEvents, taskIdOfReply } from './replies.ts';
import { forcedFunctions } from './tool-choice.ts';

/** Serves agents and workflows as models of OpenAI's API: its clients change only the base URL. */
export function openaiRoutes(api: Api, services: CompatServices): void {
  refuseInTheirWords(api);
  const owned = ownedTask(services.store);
  const completed = async (id: string, caller: Caller) => {
    const task = await owned(taskIdOfReply(id), caller);
    if (!hasEnded(task))
      throw new AppError('conflict', 'The run is still in progress; ask again, or GET /v1/responses/{id}', {
        code: 'in_progress',
      });
    refuseTrouble(troubleOf(task));
    return task;
  };
  mount(api, compat.models, async (_, caller) => ({ object: 'list' as const, data: await modelsOf(services, caller) }));
  mount(api, compat.model, ({ params: { model } }, caller) => modelOf(services, model, caller));
  mount(api, compat.chat, (input, caller) => chat(services, input, caller));
  mount(api, compat.completion, async ({ params: { id } }, caller) => {
    const task = await completed(id, caller);
    return chatCompletion(task, task.agent_name);
  });
  mount(api, compat.score, async ({ params: { id }, body: { metadata }, reserved_id }, caller) => {
    const task = await completed(id, caller);
    const values = {
      ...scoreOf(metadata),
      task_id: task.id,
      created_by: caller.key,
      ...(reserved_id ? { id: reserved_id } : {}),
    };
    await madeOnce(reserved_id, services.store.scores.find, () => services.store.scores.create(values));
    return { ...chatCompletion(task, task.agent_name), metadata };
  });
  conversationRoutes(api, services);
  mount(api, compat.respond, (input, caller) => respond(services, input, caller));
  mount(api, compat.response, async ({ params: { id }, query, holdOpen }, caller) => {
    const task = await owned(taskIdOfReply(id), caller);
    if (!query.stream) return response(task, task.agent_name, await callsOfClient(services, task));
    holdOpen();
    return streamResponse(services, { task, model: task.agent_name, after: query.starting_after ?? -1 });
  });
  mount(api, compat.cancel, async ({ params: { id } }, caller) => {
    const task = await owned(taskIdOfReply(id), caller);
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
  405: 'invalid_request_error',
  409: 'conflict_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
};

function refuseInTheirWords({ http, endpoints }: Api): void {
  http.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = problemOf(error);
    const { status } = problem;
    // The request itself is destroyed as soon as its body was read.
    if (status >= 500 && !reply.raw.destroyed) logFault(request.log, error, 'request failed');
    // OpenAI's clients repeat a request that ended in 502, which would be another run.
    if (status === 502) reply.header('x-should-retry', 'false');
    return sendRefusal(reply, problem);
  });
  // Unknown paths require the token first, like known ones.
  http.all('/v1/*', async (request, reply) => {
    const allowed = methodsAt(endpoints, request.url);
    if (allowed.length === 0) return sendRefusal(reply, unknownRoute(request));
    return sendRefusal(reply.header('allow', allowed.join(', ')), wrongMethod(request, allowed));
  });
}

function sendRefusal(reply: FastifyReply, { status, detail, code, errors, retry_after_s }: ProblemFacts): FastifyReply {
  headRefusal(reply, { status, retry_after_s });
  const param = errors?.[0]?.path ?? null;
  return reply.code(status).send({ error: { message: detail, type: TYPES[status] ?? 'server_error', code, param } });
}

/** The parts of a request that starts a run. */
type Ordering<B> = Pick<RouteInput<unknown, unknown, B>, 'body' | 'once' | 'holdOpen' | 'signal'>;

/** A run to begin, with the files that its prompt is given. */
interface RunBegun {
  order: RunOrder;
  files: readonly PlacedFile[];
}

interface RunAsked extends Pick<Ordering<unknown>, 'once'>, Pick<RunOrder, 'forced_tools'> {
  /** Not called if an earlier attempt of the request has begun the run. */
  begin(): Promise<RunBegun>;
  outputs: ReturnType<typeof outputsIn>;
  conversation_id?: string | undefined;
}

/** The run that a request begins, or the one that waits for its results. */
async function runOf(services: CompatServices, { begin, once, ...given }: RunAsked, caller: Caller): Promise<CompatRun> {
  if (given.outputs.length > 0) return continuedRun(services, given, caller);
  const start = async (task_id?: string): Promise<CompatRun> => {
    const begun = await begunRun(services, task_id);
    if (begun) return begun;
    const { order, files: placed } = await begin();
    const files = placed.map(({ file }) => file);
    return inTheirPlaces(placed, () => startRun(services, { ...order, files, task_id }, caller));
  };
  return (await once(start)).value;
}

interface AskedTools {
  tools?: Parameters<typeof clientToolsIn>[0];
  tool_choice?: unknown;
  parallel_tool_calls?: boolean | null | undefined;
}

/** What a request says about tools. Calls at once are what happens anyway. */
function toolsAsked({ tools, tool_choice, parallel_tool_calls }: AskedTools) {
  const client_tools = clientToolsIn(tools, tool_choice);
  const serial = parallel_tool_calls === false ? { parallel_tool_calls } : {};
  return { client_tools, forced_tools: forcedFunctions(tool_choice, client_tools), ...serial };
}

async function chat(services: CompatServices, { body, once, holdOpen, signal }: Ordering<ChatCompletionRequest>, caller: Caller) {
  const { model, messages, stream, stream_options, reasoning_effort, response_format: format } = body;
  refuseUnhonoured(body, Object.keys(ChatCompletionRequest.shape));
  const output_schema = await schemaAsked(services, { param: 'response_format', format, caller });
  const asked_tools = toolsAsked(body);
  const { said, files } = saidIn(messages, 'messages');
  const order = { model, ...promptOf(said), reasoning_effort, output_schema, ...asked_tools };
  holdOpen();
  const { forced_tools } = asked_tools;
  const begin = async () => ({ order, files });
  const run = await runOf(services, { begin, forced_tools, outputs: outputsIn(messages), once }, caller);
  if (stream) return streamChat(services, { run, model, counts_usage: stream_options?.include_usage === true });
  const { task, calls } = await rested(services, run, signal);
  if (calls.length === 0) refuseTrouble(troubleOf(task));
  return chatCompletion(task, model, calls);
}

interface ChatStream {
  run: CompatRun;
  model: string;
  counts_usage: boolean;
}

const streamChat = (services: CompatServices, { run, model, counts_usage }: ChatStream): EventReply =>
  new EventReply(async function* (signal): AsyncGenerator<SseFrame> {
    const chunks = chatChunks(run, model, new Date());
    yield { data: chunks.first() };
    for await (const text of answerText(services, run, signal)) yield { data: chunks.text(text) };
    if (signal.aborted) return;
    const { task, calls } = await rested(services, run, signal);
    const asks = calls.length > 0;
    const trouble = asks ? null : troubleOf(task);
    if (asks) yield { data: chunks.calls(calls) };
    yield { data: trouble ? { error: trouble } : chunks.last(asks ? 'tool_calls' : 'stop') };
    if (counts_usage) yield { data: chunks.usage(task) };
    yield { data: '[DONE]' };
  }, run.task_id);

async function respond(services: CompatServices, { body, once, holdOpen, signal }: Ordering<ResponseRequest>, caller: Caller) {
  const { model, input, instructions, stream, background, reasoning, text } = body;
  const { format, ...other_text } = text ?? {};
  refuseUnhonoured({ ...body, ...other_text }, Object.keys(ResponseRequest.shape));
  const output_schema = await schemaAsked(services, { param: 'text.format', format, caller });
  const ruled = instructions ? [{ role: INSTRUCTIONS, text: instructions }] : [];
  const asked = { reasoning_effort: reasoning?.effort, output_schema, ...toolsAsked(body as AskedTools) };
  const outputs = typeof input === 'string' ? [] : outputsIn(input);
  const continued = await continuedIn(services, body, caller);
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const { said, files } = saidIn(items, 'input');
  const begin = async () => {
    const { turn, ...before } = await beforeInput(services, { continued, items, files: files.length }, caller);
    const order = { model, ...promptOf([...ruled, ...before.said, ...said]), ...asked, turn };
    return { order, files: [...before.files, ...files] };
  };
  if (!background || stream) holdOpen();
  const conversation_id = continued.conversation?.id;
  const run = await runOf(services, { begin, forced_tools: asked.forced_tools, outputs, conversation_id, once }, caller);
  const task = await ownedTask(services.store)(run.task_id, caller);
  if (stream) return streamResponse(services, { task, model, after: -1 });
  if (background) return response(task, model);
  const rest = await rested(services, run, signal);
  return response(rest.task, model, rest.calls);
}

interface ResponseStream {
  task: CompatTask;
  model: string;
  /** The client has received the events up to this number. */
  after: number;
}

const streamResponse = (services: CompatServices, { task, model, after }: ResponseStream): EventReply =>
  new EventReply(async function* (signal): AsyncGenerator<SseFrame> {
    const run = placeOf(task);
    const finish = async (known: string | null) => {
      if (signal.aborted) return null;
      let text = known ?? '';
      if (known === null) for await (const piece of answerText(services, run, signal)) text += piece;
      return { ...(await rested(services, run, signal)), text };
    };
    const events = responseEvents(answerText(services, run, signal), { started: task, finish, model, after });
    for await (const event of events) if (event.sequence_number > after) yield { event: event.type, data: event };
  }, task.id);

const placeOf = (task: { id: string; workflow_id: string }) => ({ task_id: task.id, workflow_id: task.workflow_id });

function promptOf(said: readonly SaidMessage[]) {
  const { prompt, parts } = promptOfConversation(said);
  return { prompt, prompt_parts: parts.length > 1 ? parts : undefined };
}

function refuseTrouble(trouble: ReturnType<typeof troubleOf>): void {
  if (trouble) throw new AppError('upstream', trouble.message, { code: trouble.code });
}

function scoreOf({ score, note = '' }: ScoreMetadata) {
  const thumb = THUMBS.find((known) => known === score) ?? null;
  return { thumb, value: thumb ? null : Number(score), note };
}
