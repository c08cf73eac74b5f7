import { z } from 'zod';
import { Timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

/** How long the previous secret stays valid: enough time to give every receiver the new one. */
export const PREVIOUS_HOURS = 48;

export const WebhookSecret = z
  .object({
    source: z
      .enum(['own', 'installation'])
      .meta({ description: "installation: the operator's, until you rotate for the first time" }),
    fingerprint: z.string().nullable().meta({ description: 'Distinguishes two secrets without revealing either' }),
    rotated_at: Timestamp.nullable(),
    previous_valid_until: Timestamp.nullable().meta({
      description: 'Until then messages are also signed with the previous secret',
    }),
  })
  .meta({ id: 'WebhookSecret' });

const NewWebhookSecret = WebhookSecret.extend({
  secret: z.string().meta({
    description: 'In the format of Standard Webhooks; shown only once',
    example: 'whsec_bm90IGEgc2VjcmV0IGF0IGFsbCwgb25seSBhbiBleGFtcGxl',
  }),
}).meta({ id: 'NewWebhookSecret' });

const tag = 'Webhooks';

export const webhookSecrets = {
  get: endpoint('GET /api/webhook-secret', {
    operation: 'get_webhook_secret',
    tag,
    summary: "What the caller's webhooks are signed with, without the secret",
    reply: WebhookSecret,
  }),
  rotate: endpoint('POST /api/webhook-secret/rotate', {
    operation: 'rotate_webhook_secret',
    tag,
    summary: "Make a new secret for the caller's webhooks",
    description: `Only this reply holds it. For ${PREVIOUS_HOURS} hours messages are also signed with the previous secret; rotating twice ends that at once.`,
    reply: NewWebhookSecret,
    status: 201,
  }),
};
