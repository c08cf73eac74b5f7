import { z } from 'zod';
import { QueryFlag, Warning } from './common.ts';
import { ChatCompletionRequest, ResponseRequest } from './compat-requests.ts';
import { endpoint } from './endpoint.ts';
import { THUMBS } from './scores.ts';

/** The warnings of a reply under /v1, which are also in its header X-Warnings. */
const Warned = {
  warnings: z.array(Warning).optional().meta({
    description:
      'Present only if there are any: parameters and items of the input that were accepted and have no effect. Also in `X-Warnings`',
  }),
};

const TASK = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

export const ChatCompletion = z
  .looseObject({
    id: z.string().meta({ description: '`chatcmpl-` and the id of the task' }),
    object: z.literal('chat.completion'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.looseObject({
        index: z.int(),
        message: z.looseObject({ role: z.literal('assistant'), content: z.string().nullable() }),
        finish_reason: z.string(),
      }),
    ),
    usage: z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }),
    ...Warned,
  })
  .meta({
    id: 'ChatCompletion',
    example: {
      id: `chatcmpl-${TASK}`,
      object: 'chat.completion',
      created: 1_767_225_600,
      model: 'research',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Little.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
    },
  });

const ScoreMetadata = z
  .strictObject({
    score: z.union([z.enum(THUMBS), z.string().regex(/^-?\d{1,15}(\.\d{1,15})?$/)], 'Use "up", "down" or a number in quotes'),
    note: z.string().max(10_000).optional(),
  })
  .meta({ id: 'ScoreMetadata' });
export type ScoreMetadata = z.output<typeof ScoreMetadata>;

const ChatCompletionUpdate = z
  .object({ metadata: ScoreMetadata })
  .meta({ id: 'ChatCompletionUpdate', example: { metadata: { score: 'down', note: 'It named the wrong month.' } } });

export const ChatCompletionChunk = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: z.string(),
    choices: z.array(z.looseObject({ index: z.int(), delta: z.looseObject({ content: z.string().nullish() }) })),
    ...Warned,
  })
  .meta({ id: 'ChatCompletionChunk', description: 'The `data` line of a frame; the last one is `[DONE]`' });

export const ModelResponse = z
  .looseObject({
    id: z.string().meta({ description: '`resp_` and the id of the task' }),
    object: z.literal('response'),
    created_at: z.int(),
    model: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed', 'cancelled', 'incomplete']),
    error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    output: z.array(z.looseObject({ type: z.string() })),
    usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() }),
    ...Warned,
  })
  .meta({ id: 'ModelResponse' });

export const ModelResponseEvent = z
  .looseObject({ type: z.string(), sequence_number: z.int() })
  .meta({ id: 'ModelResponseEvent', description: "The `data` line of a frame, as in OpenAI's Responses API" });

const CompatModel = z
  .object({
    id: z.string(),
    name: z.string().meta({ description: 'Title of the workflow, or name of the agent' }),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.string(),
  })
  .meta({ id: 'OpenAIModel' });
export const CompatModels = z.object({ object: z.literal('list'), data: z.array(CompatModel) }).meta({ id: 'OpenAIModels' });

export const OpenAIError = z
  .object({
    error: z.object({ message: z.string(), type: z.string(), code: z.string(), param: z.string().nullable() }),
  })
  .meta({ id: 'OpenAIError', description: 'An error in the shape that OpenAI clients read' });

const JsonRpc = z
  .looseObject({ jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.int()]).optional(), method: z.string().optional() })
  .meta({
    id: 'JsonRpcMessage',
    example: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'Sum_it_up_2c5a1be0', arguments: { prompt: 'Sum up the week.' }, _meta: { progressToken: 1 } },
    },
  });

const tag = 'Compatible APIs';
/** Accepts any query: clients send parameters that have no meaning here, such as `limit` and `include[]`. */
const AnyQuery = z.looseObject({});
export const openai = { tag, refusal: OpenAIError, query: AnyQuery };
const ModelParam = z.object({ model: z.string().meta({ description: 'Name of an agent, or id of one of your workflows' }) });
const RunId = z.object({ id: z.string().meta({ description: 'The id from the reply', example: `resp_${TASK}` }) });

export const compat = {
  models: endpoint('GET /v1/models', {
    ...openai,
    operation: 'list_openai_models',
    summary: 'List what `model` can name: agents by name, your workflows by id',
    reply: CompatModels,
  }),
  model: endpoint('GET /v1/models/{model}', {
    ...openai,
    operation: 'get_openai_model',
    summary: 'Look up what `model` can name',
    params: ModelParam,
    reply: CompatModel,
    refuses: [403],
  }),
  chat: endpoint('POST /v1/chat/completions', {
    ...openai,
    operation: 'create_chat_completion',
    access: 'run',
    summary: 'Run an agent or a workflow as a chat completion',
    description:
      'With `stream` the text comes as server-sent events. The run continues if the client disconnects, and can be read by its id. Parameters that a run has a setting for hold for this run; others are accepted with `warnings`. If COMPAT_STRICT is on or the request is strict (`Prefer: handling=strict`), both kinds are refused with 400.',
    body: ChatCompletionRequest,
    reply: ChatCompletion,
    streamed: ChatCompletionChunk,
    refuses: [403, 404, 409, 502],
    idempotent: true,
  }),
  completion: endpoint('GET /v1/chat/completions/{id}', {
    ...openai,
    operation: 'get_chat_completion',
    summary: 'Read the completion of a run that has ended',
    params: RunId,
    reply: ChatCompletion,
    refuses: [403, 409, 502],
  }),
  score: endpoint('POST /v1/chat/completions/{id}', {
    ...openai,
    operation: 'update_chat_completion',
    summary: 'Score the run of a completion by its metadata',
    description:
      'OpenAI’s clients call this `chat.completions.update`. Each request adds a score, as POST /api/tasks/{id}/scores does.',
    params: RunId,
    body: ChatCompletionUpdate,
    reply: ChatCompletion,
    refuses: [403, 409, 502],
    idempotent: true,
  }),
  respond: endpoint('POST /v1/responses', {
    ...openai,
    operation: 'create_response',
    access: 'run',
    summary: 'Run an agent or a workflow as a response',
    description: 'With `stream`, events are sent as they happen. With `background`, the reply is sent before the run has ended.',
    body: ResponseRequest,
    reply: ModelResponse,
    streamed: ModelResponseEvent,
    refuses: [403, 404, 409, 413],
    idempotent: true,
    stores: (body) => Boolean((body as { conversation?: unknown } | null)?.conversation),
  }),
  response: endpoint('GET /v1/responses/{id}', {
    ...openai,
    operation: 'get_response',
    summary: 'Read a run as a response, or resume its stream',
    params: RunId,
    query: AnyQuery.extend({
      stream: QueryFlag('Answer with a stream of events'),
      starting_after: z.coerce.number().int().optional().meta({ description: 'Events up to this number are left out' }),
    }),
    reply: ModelResponse,
    streamed: ModelResponseEvent,
    refuses: [403],
  }),
  cancel: endpoint('POST /v1/responses/{id}/cancel', {
    ...openai,
    operation: 'cancel_response',
    access: 'run',
    summary: 'Halt the run of a response',
    params: RunId,
    reply: ModelResponse,
    refuses: [403],
  }),
  mcp: endpoint('POST /mcp', {
    tag,
    operation: 'mcp',
    access: 'run',
    audited: (message) =>
      [message]
        .flat()
        .some((one) => ['tools/call', 'tasks/cancel'].includes(String((one as { method?: unknown } | null)?.method))),
    summary: 'Your workflows and the agents as tools of an MCP server, over streamable HTTP',
    description:
      'A JSON-RPC message, or several; the answer is a message or a stream of messages. Clients of version 2026-07-28 need no handshake: a call whose answer they close is halted, and one of a client with the extension `io.modelcontextprotocol/tasks` returns a task at once. For clients with a handshake, `notifications/cancelled` halts the run of a call; a connection that is lost does not. A call with `task` returns an MCP task at once; `tasks/get`, `tasks/result` and `tasks/cancel` take its id, which is the id of the run. Connect any MCP client to this address with your access token as bearer token.',
    body: z.union([JsonRpc, z.array(JsonRpc)]),
    reply: JsonRpc,
    streamed: JsonRpc,
    notifiable: true,
    refuses: [404, 406],
  }),
};
