import { z } from 'zod';
import { Id, QueryInt, Timestamp, Warning } from './common.ts';
import { endpoint } from './endpoint.ts';

const ChatRequest = z
  .object({
    message: z.string().min(1),
    session_id: z.string().optional().meta({ description: 'Omit to start a new session' }),
    tools: z.boolean().default(true).meta({ description: 'False: the agent answers without its tools' }),
  })
  .meta({ id: 'ChatRequest', example: { message: 'What can you do?' } });

const ChatUsage = z
  .object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    estimated: z.boolean().optional().meta({ description: 'True: the endpoint did not report a part, which is an estimate' }),
  })
  .meta({ id: 'ChatUsage' });
const truncated = z.boolean().meta({ description: 'The reply ended at the output limit of the model' });

export const ChatEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('session'), session_id: Id, warnings: z.array(Warning).optional() }),
    z.object({ type: z.literal('delta'), content: z.string() }),
    z.object({
      type: z.literal('done'),
      usage: ChatUsage,
      message_id: Id,
      truncated: truncated.optional(),
      content: z.string().optional().meta({
        description:
          'The whole reply, if the deltas do not make it up: the connection to the model broke, and its second answer was another',
      }),
    }),
    z.object({ type: z.literal('error'), message: z.string() }),
  ])
  .meta({ id: 'ChatEvent', description: 'The `data` line of a frame; the `id` line counts from 1' });
export type ChatEvent = z.output<typeof ChatEvent>;

const ChatSession = z
  .object({
    id: Id,
    agent_id: Id,
    title: z.string(),
    message_count: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'ChatSession' });

export const ChatMessage = z
  .object({
    id: Id,
    role: z.enum(['user', 'assistant']),
    content: z.string(),
    usage: ChatUsage.nullable(),
    truncated,
    error: z
      .string()
      .nullable()
      .meta({ description: 'Of a user message: why it got no reply, or no whole one; null: it has one, or will' }),
    created_at: Timestamp,
  })
  .meta({ id: 'ChatMessage' });
export type ChatMessage = z.output<typeof ChatMessage>;

const ChatReply = z
  .object({
    question_id: Id.meta({ description: 'The user message that is being replied to' }),
    content: z.string().meta({ description: 'The text so far' }),
  })
  .meta({ id: 'ChatReply' });

const ChatSessionDetail = ChatSession.extend({
  messages: z.array(ChatMessage),
  reply: ChatReply.nullable().meta({ description: 'The reply in progress; null: there is none' }),
}).meta({ id: 'ChatSessionDetail' });

const tag = 'Chat';
const AgentParams = z.object({ agent_id: Id });
const SessionParams = z.object({ agent_id: Id, session_id: Id });

export const chat = {
  send: endpoint('POST /api/agents/{agent_id}/chat', {
    operation: 'chat_with_agent',
    access: 'run',
    tag,
    summary: 'Send a message and stream the reply',
    description:
      'Server-sent events: session, delta …, done; or error if the model failed. The message is a run, with the tools of the agent. It is finished and stored even if the client disconnects or the server dies. While a tool call waits for an approval, the stream stays open.',
    params: AgentParams,
    body: ChatRequest,
    reply: ChatEvent,
    kind: 'events',
    refuses: [400, 403, 409],
    idempotent: true,
  }),
  sessions: endpoint('GET /api/agents/{agent_id}/chat/sessions', {
    operation: 'list_chat_sessions',
    tag,
    summary: "List the caller's sessions with an agent, newest first",
    params: AgentParams,
    query: z.object({ skip: QueryInt(0, 1_000_000, 0), limit: QueryInt(1, 1_000, 20) }),
    reply: ChatSession,
    kind: 'page',
  }),
  session: endpoint('GET /api/agents/{agent_id}/chat/sessions/{session_id}', {
    operation: 'get_chat_session',
    tag,
    summary: 'Get a session with its messages in order',
    params: SessionParams,
    reply: ChatSessionDetail,
    refuses: [400, 403],
  }),
  stream: endpoint('GET /api/agents/{agent_id}/chat/sessions/{session_id}/stream', {
    operation: 'follow_chat_reply',
    tag,
    summary: 'Follow a reply',
    description:
      'The events of the request that sent the message, from the first one, or after the `Last-Event-ID`. Works on every server, for any number of readers, and after the end of the reply: with `question_id`, for as long as the session is kept. `Last-Event-ID` is understood for a day after the end. 204 if no reply is in progress, and none is named.',
    params: SessionParams,
    query: z.object({
      question_id: Id.optional().meta({
        description:
          'The user message whose reply to follow; without it, the one in progress, or with `Last-Event-ID` the last one',
      }),
    }),
    reply: ChatEvent,
    kind: 'events',
    resumable: true,
    refuses: [400, 403],
  }),
  stop: endpoint('POST /api/agents/{agent_id}/chat/sessions/{session_id}/stop', {
    operation: 'stop_chat_reply',
    access: 'run',
    tag,
    summary: 'Stop the reply in progress',
    description:
      'Halts the run in progress and those that wait for it. The text so far is stored as the reply and its stream ends with `done`; before the first word it ends with `error`. Does nothing if no reply is in progress.',
    params: SessionParams,
    reply: z.object({ status: z.literal('stop_requested'), session_id: Id }).meta({ id: 'ChatStop' }),
    refuses: [400, 403],
  }),
  remove: endpoint('DELETE /api/agents/{agent_id}/chat/sessions/{session_id}', {
    operation: 'delete_chat_session',
    tag,
    summary: 'Delete a session and all its messages',
    description: 'A reply in progress is halted first.',
    params: SessionParams,
    refuses: [400, 403, 412],
  }),
};
