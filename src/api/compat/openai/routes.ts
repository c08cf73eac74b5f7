import type { FastifyError } from 'fastify';
import type { Warning } from '../../../contracts/common.ts';
import { compat, type ScoreMetadata } from '../../../contracts/compat.ts';
import { ChatCompletionRequest, ResponseRequest } from '../../../contracts/compat-requests.ts';
import { THUMBS } from '../../../contracts/scores.ts';
import { buildPrompt, type TextMessage } from '../../../domain/conversation.ts';
import { AppError } from '../../../domain/errors.ts';
import type { Caller } from '../../../identity/caller.ts';
import { getOwnTask } from '../../checks/owned.ts';
import { createOnce } from '../../http/crud.ts';
import { type Api, EventReply, mount, type RouteInput } from '../../http/mount.ts';
import { logFault, sendProblem, toProblem } from '../../http/problems.ts';
import type { SseFrame } from '../../http/sse.ts';
import { listOpenCalls, streamAnswer, waitForRest } from '../client-calls.ts';
import {
  type CompatRun,
  type CompatServices,
  type CompatTask,
  findStartedRun,
  hasEnded,
  type RunOrder,
  startRun,
  toRunError,
  waitForEnd,
} from '../runs.ts';
import { continueRun, listToolOutputs, parseClientTools } from './client-tools.ts';
import { findPlace, loadContinuation, loadReferences } from './context.ts';
import { conversationRoutes } from './conversations.ts';
import { type PlacedFile, withFilePaths } from './files.ts';
import { parseOutputSchema } from './formats.ts';
import { parseMessages, parsePlacedMessages } from './messages.ts';
import { getModel, listModels } from './models.ts';
import { type ParsedParameters, parseEffort, parseParameters } from './parameters.ts';
import { createChunks, findFinishReason, parseTaskId, streamResponseEvents, toChatCompletion, toResponse } from './replies.ts';
import { isRecordOnly, placeItems, selectItems } from './response-items.ts';
import { parseForcedFunctions } from './tool-choice.ts';

/** Serves agents and workflows as models of OpenAI's API: its clients change only the base URL. */
export function openaiRoutes(api: Api, services: CompatServices): void {
  refuseRepeats(api);
  const getOwn = getOwnTask(services.store);
  const getCompletedTask = async (id: string, caller: Caller) => {
    const task = await getOwn(parseTaskId(id), caller);
    if (!hasEnded(task))
      throw new AppError('conflict', 'The run is still in progress; ask again, or GET /v1/responses/{id}', {
        code: 'in_progress',
      });
    throwRunError(toRunError(task));
    return task;
  };
  mount(api, compat.models, async (_, caller) => ({ object: 'list' as const, data: await listModels(services, caller) }));
  mount(api, compat.model, ({ params: { model } }, caller) => getModel(services, model, caller));
  mount(api, compat.chat, (input, caller) => chat(services, input, caller));
  mount(api, compat.completion, async ({ params: { id } }, caller) => {
    const task = await getCompletedTask(id, caller);
    return toChatCompletion(task, task.agent_name);
  });
  mount(api, compat.score, async ({ params: { id }, body: { metadata }, reserved_id }, caller) => {
    const task = await getCompletedTask(id, caller);
    const values = {
      ...toScore(metadata),
      task_id: task.id,
      created_by: caller.key,
      ...(reserved_id ? { id: reserved_id } : {}),
    };
    await createOnce(reserved_id, services.store.scores.find, () => services.store.scores.create(values));
    return { ...toChatCompletion(task, task.agent_name), metadata };
  });
  conversationRoutes(api, services);
  mount(api, compat.respond, (input, caller) => respond(services, input, caller));
  mount(api, compat.response, async ({ params: { id }, query, holdOpen }, caller) => {
    const task = await getOwn(parseTaskId(id), caller);
    if (!query.stream) return toResponse(task, task.agent_name, await listOpenCalls(services, task));
    holdOpen();
    return streamResponse(services, { task, model: task.agent_name, after: query.starting_after ?? -1 });
  });
  mount(api, compat.cancel, async ({ params: { id } }, caller) => {
    const task = await getOwn(parseTaskId(id), caller);
    if (!hasEnded(task)) await services.dispatch.halt(task.id);
    return toResponse(await waitForEnd(services, toCompatRun(task), AbortSignal.timeout(CANCEL_MS)), task.agent_name);
  });
}

const CANCEL_MS = 20_000;
/** OpenAI's clients repeat a request that ended in 502, which would start another run. */
function refuseRepeats({ http }: Api): void {
  http.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = toProblem(error);
    const { status } = problem;
    // The request itself is destroyed as soon as its body has been read.
    if (status >= 500 && !reply.raw.destroyed) logFault(request.log, error, 'request failed');
    if (status === 502) reply.header('x-should-retry', 'false');
    return sendProblem(request, reply, problem);
  });
}

/** The parts of a request that starts a run. */
type Ordering<B> = Pick<RouteInput<unknown, unknown, B>, 'body' | 'once' | 'holdOpen' | 'signal' | 'note' | 'strict'>;

/** A run to start, with the files of its prompt. */
interface NewRun {
  order: RunOrder;
  files: readonly PlacedFile[];
}

interface RunAsked extends Pick<Ordering<unknown>, 'once'>, Pick<RunOrder, 'forced_tools'> {
  /** Prepares the run; not called if an earlier attempt of the request has started it. */
  begin(): Promise<NewRun>;
  outputs: ReturnType<typeof listToolOutputs>;
  conversation_id?: string | undefined;
}

/** Starts the run of a request, or continues the run that waits for its results. */
async function startOrContinueRun(
  services: CompatServices,
  { begin, once, ...given }: RunAsked,
  caller: Caller,
): Promise<CompatRun> {
  if (given.outputs.length > 0) return continueRun(services, given, caller);
  const start = async (task_id?: string, claim?: number): Promise<CompatRun> => {
    const existing_run = await findStartedRun(services, task_id);
    if (existing_run) return existing_run;
    const { order, files: placed_files } = await begin();
    const files = placed_files.map(({ file }) => file);
    return withFilePaths(placed_files, () => startRun(services, { ...order, files, task_id, claim }, caller));
  };
  return (await once(start)).value;
}

interface AskedTools {
  tools?: Parameters<typeof parseClientTools>[0];
  tool_choice?: unknown;
  parallel_tool_calls?: boolean | null | undefined;
}

/** Parses what a request asks of tools. Parallel calls are the default behaviour. */
function parseTools({ tools, tool_choice, parallel_tool_calls }: AskedTools) {
  const client_tools = parseClientTools(tools, tool_choice);
  const serial = parallel_tool_calls === false ? { parallel_tool_calls } : {};
  return { client_tools, forced_tools: parseForcedFunctions(tool_choice, client_tools), ...serial };
}

/** Reads the parameters and the effort of a request, and adds their warnings to the reply. */
function parseSettings(
  services: CompatServices,
  { body, effort, shape, param, warnings: earlier_warnings = [], ...input }: AskedSettings,
): Omit<ParsedParameters, 'warnings'> & { reasoning_effort?: string | undefined; warned: { warnings?: Warning[] } } {
  const strict = isStrict(services, input);
  const { warnings, ...settings } = parseParameters(body, { honoured: Object.keys(shape), strict });
  const { warnings: effort_warnings, ...asked_effort } = parseEffort(effort, param, strict);
  const all = [...earlier_warnings, ...warnings, ...effort_warnings];
  input.note(...all);
  return { ...settings, ...asked_effort, warned: all.length > 0 ? { warnings: all } : {} };
}

interface AskedSettings extends Pick<Ordering<unknown>, 'note' | 'strict'> {
  body: Record<string, unknown>;
  /** The parameters that the operation itself reads. */
  shape: object;
  effort: string | null | undefined;
  /** The parameter that contained the effort. */
  param: string;
  /** Warnings about other parts of the request. */
  warnings?: Warning[];
}

const isStrict = ({ strict_parameters }: CompatServices, { strict }: Pick<Ordering<unknown>, 'strict'>) =>
  strict_parameters || strict;

async function chat(services: CompatServices, input: Ordering<ChatCompletionRequest>, caller: Caller) {
  const { body, once, holdOpen, signal } = input;
  const { model, messages, stream, stream_options, reasoning_effort: effort, response_format: format } = body;
  const { shape } = ChatCompletionRequest;
  const { warned, ...settings } = parseSettings(services, { ...input, body, shape, effort, param: 'reasoning_effort' });
  const output_schema = await parseOutputSchema(services, { param: 'response_format', format, caller });
  const asked_tools = parseTools(body);
  const { text_messages, files } = parseMessages(messages, 'messages');
  const order = { model, ...toPrompt(text_messages), ...settings, output_schema, ...asked_tools };
  holdOpen();
  const { forced_tools } = asked_tools;
  const begin = async () => ({ order, files });
  const run = await startOrContinueRun(services, { begin, forced_tools, outputs: listToolOutputs(messages), once }, caller);
  if (stream) {
    const started = await getOwnTask(services.store)(run.task_id, caller);
    return streamChat(services, { started, model, counts_usage: stream_options?.include_usage === true, warned });
  }
  const { task, calls } = await waitForRest(services, run, signal);
  if (calls.length === 0) throwRunError(toRunError(task));
  return { ...toChatCompletion(task, model, calls), ...warned };
}

interface ChatStream {
  started: CompatTask;
  model: string;
  counts_usage: boolean;
  warned: { warnings?: Warning[] };
}

const streamChat = (services: CompatServices, { started, model, counts_usage, warned }: ChatStream): EventReply =>
  new EventReply(async function* (signal): AsyncGenerator<SseFrame> {
    const run = toCompatRun(started);
    const chunks = createChunks(started, model);
    yield { data: { ...chunks.first(), ...warned } };
    for await (const text of streamAnswer(services, run, signal)) yield { data: chunks.text(text) };
    if (signal.aborted) return;
    const { task, calls } = await waitForRest(services, run, signal);
    const asks = calls.length > 0;
    const run_error = asks ? null : toRunError(task);
    if (asks) yield { data: chunks.calls(calls) };
    yield { data: run_error ? { error: run_error } : chunks.last(findFinishReason(task, calls)) };
    if (counts_usage) yield { data: chunks.usage(task) };
    yield { data: '[DONE]' };
  }, started.id);

/** Parses the input of a response: the items that the agent is given, and the results that continue a waiting run. */
async function parseInput(
  services: CompatServices,
  { body: { input }, ...asked }: Pick<Ordering<ResponseRequest>, 'body' | 'strict'>,
  caller: Caller,
) {
  if (typeof input === 'string')
    return { items: placeItems([{ role: 'user', content: input }], 'input'), outputs: [], warnings: [] };
  const sent_items = await loadReferences(services, input, caller);
  const outputs = listToolOutputs(sent_items.filter((item) => !isRecordOnly(item)));
  return { ...selectItems(sent_items, 'input', isStrict(services, asked)), outputs };
}

async function respond(services: CompatServices, asked: Ordering<ResponseRequest>, caller: Caller) {
  const { body, once, holdOpen, signal } = asked;
  const { model, instructions, stream, background, reasoning, text } = body;
  const { items: placed_items, outputs, warnings } = await parseInput(services, asked, caller);
  const { format, ...other_text } = text ?? {};
  const parameters = { ...body, ...other_text };
  const { shape } = ResponseRequest;
  const effort = { effort: reasoning?.effort, param: 'reasoning.effort' };
  const { warned, ...settings } = parseSettings(services, { ...asked, body: parameters, shape, ...effort, warnings });
  const output_schema = await parseOutputSchema(services, { param: 'text.format', format, caller });
  const run_options = { ...settings, output_schema, ...parseTools(body as AskedTools) };
  const continued = await loadContinuation(services, body, caller);
  const { text_messages, files } = parsePlacedMessages(placed_items);
  const begin = async () => {
    const place = await findPlace(services, continued, caller);
    return {
      order: { model, ...toPrompt(text_messages), ...run_options, place, instructions: instructions ?? undefined },
      files,
    };
  };
  if (!background || stream) holdOpen();
  const conversation_id = continued.conversation?.id;
  const run = await startOrContinueRun(
    services,
    { begin, forced_tools: run_options.forced_tools, outputs, conversation_id, once },
    caller,
  );
  const task = await getOwnTask(services.store)(run.task_id, caller);
  if (stream) return streamResponse(services, { task, model, after: -1 });
  if (background) return { ...toResponse(task, model), ...warned };
  const rest = await waitForRest(services, run, signal);
  return { ...toResponse(rest.task, model, rest.calls), ...warned };
}

interface ResponseStream {
  task: CompatTask;
  model: string;
  /** The client has received the events up to this number. */
  after: number;
}

const streamResponse = (services: CompatServices, { task, model, after }: ResponseStream): EventReply =>
  new EventReply(async function* (signal): AsyncGenerator<SseFrame> {
    const run = toCompatRun(task);
    const finish = async (whole_text: string | null) => {
      if (signal.aborted) return null;
      let text = whole_text ?? '';
      if (whole_text === null) for await (const piece of streamAnswer(services, run, signal)) text += piece;
      return { ...(await waitForRest(services, run, signal)), text };
    };
    const events = streamResponseEvents(streamAnswer(services, run, signal), { started: task, finish, model, after });
    for await (const event of events) if (event.sequence_number > after) yield { event: event.type, data: event };
  }, task.id);

const toCompatRun = (task: { id: string; workflow_id: string }) => ({ task_id: task.id, workflow_id: task.workflow_id });

function toPrompt(messages: readonly TextMessage[]) {
  const { prompt, parts } = buildPrompt(messages);
  return { prompt, prompt_parts: parts.length > 1 ? parts : undefined };
}

function throwRunError(run_error: ReturnType<typeof toRunError>): void {
  if (run_error) throw new AppError('upstream', run_error.message, { code: run_error.code });
}

function toScore({ score, note = '' }: ScoreMetadata) {
  const thumb = THUMBS.find((one) => one === score) ?? null;
  return { thumb, value: thumb ? null : Number(score), note };
}
