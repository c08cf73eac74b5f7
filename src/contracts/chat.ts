import { z } from 'zod';
import { Id, QueryInt, Timestamp, Warning } from './common.ts';
import { endpoint } from './endpoint.ts';

const ChatRequest = z
  .object({
    message: z.string().min(1),
    session_id: z.string().optional().meta({ description: 'Omit to start a new session' }),
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
    z.object({ type: z.literal('done'), usage: ChatUsage, message_id: Id, truncated: truncated.optional() }),
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
    error: z.string().nullable().meta({ description: 'Of a user message: why it got no reply; null: it has one, or will' }),
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
      'Server-sent events: session, delta …, done; or error if the model failed. The reply is finished and stored even if the client disconnects.',
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
    summary: 'Follow the reply in progress',
    description:
      'The events of the request that sent the message, from the first one, or after the `Last-Event-ID`. Consecutive deltas may be joined; the id is then that of the last. Works on every server and for any number of readers. 204 if no reply is in progress. A reply that ended can be resumed with `Last-Event-ID` for a minute; later, read the session.',
    params: SessionParams,
    query: z.object({
      question_id: Id.optional().meta({ description: 'The user message whose reply to follow; without it, the one in progress' }),
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
    summary: 'Stop the reply that is being written',
    description:
      'The text so far is stored as the reply and its stream ends with `done`; before the first word it ends with `error`. The stop is on record when it is answered: the server that writes the reply notices it within seconds. Does nothing if no reply is being written.',
    params: SessionParams,
    reply: z.object({ status: z.literal('stop_requested'), session_id: Id }).meta({ id: 'ChatStop' }),
    refuses: [400, 403],
  }),
  remove: endpoint('DELETE /api/agents/{agent_id}/chat/sessions/{session_id}', {
    operation: 'delete_chat_session',
    tag,
    summary: 'Delete a session and all its messages',
    params: SessionParams,
    refuses: [400, 403, 412],
  }),
};
