import { z } from 'zod';
import { Attachment, AttachmentOrders } from './attachments.ts';
import { Id, ListQuery, Timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { Metadata } from './metadata.ts';

const MESSAGE_STATES = ['pending', 'started', 'steered', 'refused', 'withdrawn'] as const;
export const WHEN_BUSY = ['enqueue', 'steer', 'interrupt', 'fork', 'reject'] as const;

export const MessageReceipt = z
  .object({
    id: Id.meta({ description: 'Of the message, and of the turn that it begins' }),
    thread_id: Id.nullable().meta({ description: 'Null: it was sent to a run that is in no thread' }),
    workflow_id: Id,
    state: z.enum(MESSAGE_STATES).meta({
      description:
        'Its outcome. `pending`: no run has read it yet. Every other state is final: `started` a turn, `steered` a run that was working, ' +
        '`refused` (see `reason`), or `withdrawn` by its author',
    }),
    when_busy: z.enum(WHEN_BUSY),
    message: z.string(),
    attachments: z.array(Attachment),
    metadata: Metadata,
    task_id: Id.meta({ description: 'The run that it waits for, has entered, or is' }),
    step: z.int().nullable().meta({ description: 'The step of that run that read it; null: it is the prompt, or waits' }),
    reason: z.string().nullable().meta({ description: 'Why it was refused' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'MessageReceipt', description: 'A message with its outcome' });
export type MessageReceipt = z.output<typeof MessageReceipt>;

const MessageCreate = z
  .object({
    message: z.string().min(1),
    attachments: AttachmentOrders,
    when_busy: z
      .enum(WHEN_BUSY)
      .default('enqueue')
      .meta({
        description:
          'If a turn is in progress: `enqueue` starts another one afterwards, `steer` lets the one in progress read the message at its next step, ' +
          '`interrupt` ends it and starts another one at once, `fork` starts one next to it from its last recorded step, `reject` refuses with 409',
      }),
    metadata: Metadata.default({}),
  })
  .meta({ id: 'MessageCreate', example: { message: 'Only the orders of this week.', when_busy: 'steer' } });

const tag = 'Threads';
const ThreadMessageParams = z.object({ id: Id, message_id: Id });
const refuses = [403];
const EXPLAINED = 'The receipt has the outcome of the message; read it again with GET until its state is not `pending`.';

export const threadMessages = {
  create: endpoint('POST /api/threads/{id}/messages', {
    operation: 'send_message',
    access: 'run',
    tag,
    summary: 'Send a message to a thread',
    description: EXPLAINED,
    params: z.object({ id: Id }),
    body: MessageCreate,
    reply: MessageReceipt,
    status: 202,
    refuses: [403, 409, 413, 503],
    idempotent: true,
  }),
  list: endpoint('GET /api/threads/{id}/messages', {
    operation: 'list_messages',
    tag,
    summary: 'List the messages that were sent to a thread, newest first',
    params: z.object({ id: Id }),
    query: ListQuery,
    reply: MessageReceipt,
    kind: 'page',
    refuses,
  }),
  get: endpoint('GET /api/threads/{id}/messages/{message_id}', {
    operation: 'get_message',
    tag,
    summary: 'Get the receipt of a message',
    params: ThreadMessageParams,
    reply: MessageReceipt,
    refuses,
  }),
  withdraw: endpoint('DELETE /api/threads/{id}/messages/{message_id}', {
    operation: 'withdraw_message',
    access: 'run',
    tag,
    summary: 'Withdraw a message',
    description: 'Refused with 409 if a run has read it, or it was refused. A turn that it would have begun does not run.',
    params: ThreadMessageParams,
    reply: MessageReceipt,
    refuses: [403, 409, 412, 503],
  }),
  ofTask: endpoint('GET /api/tasks/{id}/messages/{message_id}', {
    operation: 'get_task_message',
    tag: 'Tasks',
    summary: 'Get the receipt of a message that was sent to a run',
    description: 'Also after the run has ended, and handed the message to another run of its workflow.',
    params: ThreadMessageParams,
    reply: MessageReceipt,
    refuses,
  }),
  withdrawFromTask: endpoint('DELETE /api/tasks/{id}/messages/{message_id}', {
    operation: 'withdraw_task_message',
    access: 'run',
    tag: 'Tasks',
    summary: 'Withdraw a message that was sent to a run',
    description: 'Refused with 409 if a run has read it, or it was refused.',
    params: ThreadMessageParams,
    reply: MessageReceipt,
    refuses: [403, 409, 412, 503],
  }),
};
