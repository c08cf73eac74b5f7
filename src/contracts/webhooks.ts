import { z } from 'zod';
import { Id, Timestamp } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

const WebhookAttempt = z.object({
  attempt: z.int(),
  response_status: z.int().nullable(),
  error: z.string().nullable(),
  attempted_at: Timestamp,
});

const WebhookDelivery = z
  .object({
    id: z.uuidv7().meta({ description: 'Sent as webhook-id; the same for every attempt' }),
    task_id: Id,
    url: z.string(),
    status: z.enum(['pending', 'delivered', 'failed']).meta({ description: 'pending: more attempts follow; failed: given up' }),
    payload: z.unknown(),
    attempts: z.array(WebhookAttempt),
    created_at: Timestamp,
    delivered_at: Timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.output<typeof WebhookDelivery>;

const base = { tag: 'Tasks', reply: WebhookDelivery };

export const webhooks = {
  list: endpoint('GET /api/tasks/{id}/webhooks', {
    ...base,
    operation: 'list_task_webhooks',
    summary: 'List the messages sent at the end of a run, with every attempt',
    params: IdParams,
    kind: 'page',
    refuses: [403],
  }),
  redeliver: endpoint('POST /api/tasks/{id}/webhooks/{delivery_id}/redeliver', {
    ...base,
    operation: 'redeliver_webhook',
    access: 'run',
    summary: 'Deliver a message again',
    description: 'The message has the same webhook-id, so a receiver can recognise the repetition.',
    params: z.object({ id: Id, delivery_id: z.uuid() }),
    status: 202,
    refuses: [403, 409, 503],
  }),
};
