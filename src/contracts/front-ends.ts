import { z } from 'zod';
import { Id } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';
import { WHEN_BUSY } from './thread-messages.ts';

const UiPart = z.looseObject({ type: z.string() });

const UiMessage = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(UiPart),
  metadata: z.unknown().optional(),
});

const ClientTools = z
  .array(z.looseObject({ name: z.string(), description: z.string().default(''), parameters: z.unknown().optional() }))
  .default([])
  .meta({ description: 'Tools that the client executes' });

/** What `useChat` of the AI SDK sends. */
export const UiChatRequest = z
  .looseObject({
    id: z.string().optional().meta({ description: 'The id that the page has for the chat' }),
    messages: z.array(UiMessage).meta({ description: 'Only the last one is read: Perdura has the others' }),
    trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
    messageId: z.string().optional().meta({ description: 'The message that is edited, answered or made again' }),
    tools: ClientTools,
    when_busy: z
      .enum(WHEN_BUSY)
      .optional()
      .meta({ description: 'What happens to the message if a turn is in progress; absent: as `on_busy` of the workflow says' }),
  })
  .meta({
    id: 'UiChatRequest',
    example: {
      id: 'chat-1',
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What is new?' }] }],
      trigger: 'submit-message',
    },
  });
export type UiChatRequest = z.output<typeof UiChatRequest>;

const AgUiContent = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);

/** What a client of AG-UI, version 1.0, sends to run an agent. */
export const AgUiRunInput = z
  .looseObject({
    threadId: z.string(),
    runId: z.string().meta({ description: 'The id that the client gives to this request' }),
    messages: z
      .array(z.looseObject({ id: z.string(), role: z.string(), content: z.unknown().optional() }))
      .meta({ description: 'Only the last message of the user and the results after it are read: Perdura has the others' }),
    tools: ClientTools,
    context: z.array(z.looseObject({ description: z.string(), value: z.string() })).default([]),
    state: z.unknown().optional(),
    forwardedProps: z.unknown().optional().meta({
      description:
        'Of these, `when_busy` is used: `enqueue`, `steer`, `interrupt`, `fork` or `reject`, if a turn is in progress when the message comes',
    }),
    resume: z
      .array(
        z.looseObject({
          interruptId: z.string(),
          status: z.enum(['resolved', 'cancelled']),
          payload: z.unknown().optional(),
        }),
      )
      .optional()
      .meta({ description: 'The answers to the interrupts of the run before' }),
  })
  .meta({
    id: 'AgUiRunInput',
    example: { threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'What is new?' }] },
  });
export type AgUiRunInput = z.output<typeof AgUiRunInput>;

export const AgUiMessageContent = AgUiContent;

const UiChunk = z
  .looseObject({ type: z.string() })
  .meta({ id: 'UiChunk', description: 'A chunk of the UI message stream of the AI SDK; the last frame of a stream is `[DONE]`' });

const AgUiEvent = z.looseObject({ type: z.string() }).meta({ id: 'AgUiEvent', description: 'An event of AG-UI, version 1.0' });

const UiHistoryMessage = UiMessage.meta({ id: 'UiMessage', description: 'A message as `useChat` of the AI SDK has it' });

const HistoryQuery = z.object({
  turns: z.coerce
    .number()
    .int()
    .min(1)
    .max(200)
    .default(50)
    .meta({ description: 'The most turns, the newest ones of the branch in use' }),
});

const tag = 'Threads';
const ui = {
  tag,
  reply: UiChunk,
  kind: 'events' as const,
  refuses: [403],
  headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
};
const ag_ui = { tag, reply: AgUiEvent, kind: 'events' as const, refuses: [403] };
/** Each sends a message, or answers what a turn waits for. */
const sends = { access: 'run' as const, refuses: [400, 403, 409, 503], idempotent: true, cut_on_close: true };

/** The thread as front ends speak of it. docs/front-ends.md shows how to connect them. */
export const frontEnds = {
  sendUi: endpoint('POST /api/threads/{id}/ui', {
    ...ui,
    ...sends,
    operation: 'send_ui_message',
    summary: 'Send a message from useChat and stream the answer',
    description:
      'For `useChat` of the AI SDK. A new message is a turn; `regenerate-message`, and a message that is sent again with its id, fork ' +
      'a turn; approvals and results of client tools in an assistant message continue the run that waits for them. With `when_busy` steer, ' +
      'the turn in progress reads a new message, and its answer is streamed from then on.',
    params: IdParams,
    body: UiChatRequest,
  }),
  resumeUi: endpoint('GET /api/threads/{id}/ui', {
    ...ui,
    operation: 'resume_ui_message',
    summary: 'Stream the last answer again, for useChat',
    description:
      'The whole answer of the last turn, then what follows; after the `Last-Event-ID` only the rest. 204 if there is no turn, or if it ended more than five minutes ago.',
    params: IdParams,
    resumable: true,
    cut_on_close: true,
  }),
  resumeUiChat: endpoint('GET /api/threads/{id}/ui/{chat_id}/stream', {
    ...ui,
    operation: 'resume_ui_chat',
    summary: 'Stream the last answer again, at the path that useChat asks by default',
    description: 'The same as `GET /api/threads/{id}/ui`, whatever id the page has given to its chat.',
    params: z.object({ id: Id, chat_id: z.string() }),
    resumable: true,
    cut_on_close: true,
  }),
  uiMessages: endpoint('GET /api/threads/{id}/ui/messages', {
    tag,
    operation: 'list_ui_messages',
    summary: 'List the messages of a thread for useChat, oldest first',
    description: 'The messages of the branch in use: give them to `useChat` as `messages`.',
    params: IdParams,
    query: HistoryQuery,
    reply: z.array(UiHistoryMessage),
    refuses: [403],
  }),
  runAgUi: endpoint('POST /api/threads/{id}/ag-ui', {
    ...ag_ui,
    ...sends,
    operation: 'run_ag_ui',
    summary: 'Run the agent of a thread for an AG-UI client',
    description:
      'A message of the user is a turn, or steers the one in progress; `resume`, and results of client tools, continue the run that waits ' +
      'for them. Answers that are refused end the stream with `RUN_ERROR`.',
    params: IdParams,
    body: AgUiRunInput,
  }),
  connectAgUi: endpoint('GET /api/threads/{id}/ag-ui', {
    ...ag_ui,
    operation: 'connect_ag_ui',
    summary: 'Connect an AG-UI client to a thread',
    description: 'A snapshot of its messages, the step in progress from its beginning, then what follows of the turn.',
    params: IdParams,
    query: HistoryQuery,
    cut_on_close: true,
  }),
};
