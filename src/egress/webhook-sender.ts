import { createHmac } from 'node:crypto';
import { isDenied, reasonOf } from './guarded-fetch.ts';

export interface WebhookMessage {
  id: string;
  url: string;
  payload: unknown;
}

export interface SendResult {
  delivered: boolean;
  response_status: number | null;
  error: string | null;
  /** False when another attempt cannot fare better. */
  retry: boolean;
}

/** Sends one message once. Reports what came of it; throws only when the signal is aborted. */
export type SendWebhook = (message: WebhookMessage, signal: AbortSignal) => Promise<SendResult>;

interface SenderOptions {
  fetch: typeof globalThis.fetch;
  /** As in Standard Webhooks: `whsec_` and the key in base64. */
  secret: string;
  now?: () => number;
}

const TIMEOUT_MS = 15_000;
const GONE = 410;

/** Standard Webhooks: the id, the time and the body are signed together, so none of them can be changed or replayed alone. */
export function webhookSender({ fetch, secret, now = Date.now }: SenderOptions): SendWebhook {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return async ({ id, url, payload }, signal) => {
    const body = JSON.stringify(payload);
    const timestamp = String(Math.floor(now() / 1000));
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Perdura-Webhooks/1',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
    try {
      const either = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: either });
      await response.body?.cancel();
      const { ok, status } = response;
      return { delivered: ok, response_status: status, error: ok ? null : `It answered ${status}`, retry: status !== GONE };
    } catch (error) {
      signal.throwIfAborted();
      return { delivered: false, response_status: null, error: reasonOf(error), retry: !isDenied(error) };
    }
  };
}
