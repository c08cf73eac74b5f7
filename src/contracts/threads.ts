import { z } from 'zod';
import { Id, ListQuery, Timestamp } from './common.ts';
import { crud } from './endpoint.ts';
import { Metadata } from './metadata.ts';

const Title = z.string().min(1).max(500);
const ThreadFields = {
  title: Title.nullable().meta({ description: 'Null: the beginning of its first message' }),
  metadata: Metadata,
  pinned: z.boolean(),
};

const ThreadCreate = z
  .object({
    workflow_id: Id.optional().meta({ description: 'Whose settings its turns take, as they are when a turn begins' }),
    agent_id: Id.optional().meta({ description: 'Instead of `workflow_id`: an agent, with the settings of a chat' }),
    title: ThreadFields.title.default(null),
    metadata: Metadata.default({}),
    pinned: z.boolean().default(false),
  })
  .refine(({ workflow_id, agent_id }) => (workflow_id === undefined) !== (agent_id === undefined), {
    message: 'Send exactly one of workflow_id and agent_id',
    path: ['workflow_id'],
  })
  .meta({ id: 'ThreadCreate', example: { workflow_id: '0197a0c4-7d6b-7c3e-9a41-2f6f5a0f8b11', title: 'Refund of order 4711' } });

const ThreadUpdate = z
  .object({
    title: Title.nullable().optional(),
    metadata: Metadata.optional(),
    pinned: z.boolean().optional(),
    head_task_id: Id.optional().meta({
      description: 'Any turn of the thread, which the next prompt follows. Refused with 409 while a turn is in progress',
    }),
  })
  .meta({ id: 'ThreadUpdate', example: { title: 'Refund of order 4711', pinned: true } });

export const Thread = z
  .object({
    id: Id,
    workflow_id: Id.nullable().meta({ description: 'Null: a conversation of `/v1` that has no response yet' }),
    agent_id: Id.nullable(),
    agent_name: z.string().nullable(),
    ...ThreadFields,
    head_task_id: Id.nullable().meta({ description: 'The last turn of the branch in use; null: there is none yet' }),
    active_task_id: Id.nullable().meta({ description: 'The turn in progress; null: none is' }),
    created_at: Timestamp,
    updated_at: Timestamp.meta({ description: 'When a turn was last added, or ended' }),
  })
  .meta({
    id: 'Thread',
    description: 'A conversation, whose turns are runs (`GET /api/tasks?thread_id=`); private to its owner',
  });
export type Thread = z.output<typeof Thread>;

const ThreadQuery = ListQuery.extend({
  workflow_id: Id.optional(),
  agent_id: Id.optional(),
  pinned: z
    .stringbool()
    .optional()
    .meta({ override: { type: 'boolean' } }),
  q: z.string().optional().meta({ description: 'A part of the title' }),
});

const base = crud(
  { path: '/api/threads', noun: 'thread', tag: 'Threads' },
  { record: Thread, create: ThreadCreate, update: ThreadUpdate, query: ThreadQuery },
);
const refuses = [403];

export const threads = {
  ...base,
  create: {
    ...base.create,
    // To begin a thread is to use its workflow, as a prompt does that begins one.
    access: 'run' as const,
    summary: 'Create a thread without a turn',
    description:
      'A prompt without a `thread_id` to a workflow with `remember: thread` creates one, too. A workflow with `remember: none` is refused with 422.',
    refuses: [...base.create.refuses, ...refuses],
  },
  get: { ...base.get, refuses },
  update: { ...base.update, refuses: [...base.update.refuses, ...refuses, 409] },
  remove: {
    ...base.remove,
    summary: 'Delete a thread with its turns',
    description: 'Refused with 409 while a turn is in progress: halt it first.',
    refuses: [...base.remove.refuses, ...refuses],
  },
};
