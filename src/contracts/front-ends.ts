import { z } from 'zod';

const UiPart = z.looseObject({ type: z.string() });

const UiMessage = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(UiPart),
  metadata: z.unknown().optional(),
});

/** What `useChat` of the AI SDK sends. */
export const UiChatRequest = z
  .looseObject({
    id: z.string().optional().meta({ description: 'The id that the page has for the chat' }),
    messages: z.array(UiMessage).meta({ description: 'Only the last one is read: Perdura has the others' }),
    trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
    messageId: z.string().optional().meta({ description: 'The message that is edited, answered or made again' }),
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
    tools: z
      .array(z.looseObject({ name: z.string(), description: z.string().default(''), parameters: z.unknown().optional() }))
      .default([])
      .meta({ description: 'Tools that the client executes' }),
    context: z.array(z.looseObject({ description: z.string(), value: z.string() })).default([]),
    state: z.unknown().optional(),
    forwardedProps: z.unknown().optional(),
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
