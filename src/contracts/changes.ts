import { z } from 'zod';
import { Id } from './common.ts';
import { endpoint } from './endpoint.ts';

/** The kind that stands for every other one: some changes may have been missed. */
export const ALL_KINDS = 'all';

export const RecordChange = z
  .object({
    kind: z.string().meta({
      description:
        'What changed, as the part of its path after `/api/`: `tasks`, `workflows`, `agents` and so on. `inbox`: what a run waits for. ' +
        '`all`: changes may have been missed, so read again whatever you show. Versions to come add kinds: ignore those that you do not know',
      example: 'tasks',
    }),
    id: Id.nullable().meta({ description: 'The record; null: several, or one without an id. With `inbox`, the run' }),
    workflow_id: Id.optional().meta({ description: 'The workflow of a run' }),
  })
  .meta({ id: 'RecordChange', description: 'A record that has changed, without its content' });
export type RecordChange = z.output<typeof RecordChange>;

export const changes = {
  stream: endpoint('GET /api/changes', {
    operation: 'stream_changes',
    tag: 'Changes',
    summary: 'Follow what changes',
    description:
      "Server-sent events, so that a client need not poll: each says that a record has changed, and never how. The caller's own records are " +
      'reported, and records that everybody may read; administrators also get changes of service keys, stored tokens and budgets. A ' +
      'change of one record is sent at most once a second. Nothing is replayed: read again what you show after each connect.',
    reply: RecordChange,
    kind: 'events',
  }),
};
