import { Webhook } from 'standardwebhooks';
import { getReason } from '../domain/reason.ts';
import { isDenied } from './guarded-fetch.ts';

export interface WebhookMessage {
  id: string;
  url: string;
  payload: unknown;
  owner: string;
}

export interface SendResult {
  delivered: boolean;
  response_status: number | null;
  error: string | null;
  /** False if a retry cannot succeed. */
  retry: boolean;
}

/** Sends one message once and returns the result; throws only if the signal is aborted. */
export type SendWebhook = (message: WebhookMessage, signal: AbortSignal) => Promise<SendResult>;

interface SenderOptions {
  fetch: typeof globalThis.fetch;
  /** The signing secrets of an owner, each `whsec_` and the key in base64; receivers accept any of the signatures. */
  listSecrets(owner: string): Promise<string[]>;
  now?: () => number;
  /** How long a receiver may take to answer, in milliseconds. */
  timeout_ms?: number;
}

const TIMEOUT_MS = 15_000;
const GONE = 410;

/** Standard Webhooks: the id, the time and the body are signed together, so none of them can be changed or replayed alone. */
export function webhookSender({ fetch, listSecrets, now = Date.now, timeout_ms = TIMEOUT_MS }: SenderOptions): SendWebhook {
  return async ({ id, url, payload, owner }, signal) => {
    const body = JSON.stringify(payload);
    const timestamp = new Date(now());
    const signatures = (await listSecrets(owner)).map((secret) => new Webhook(secret).sign(id, timestamp, body));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Perdura-Webhooks/1',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(timestamp.getTime() / 1000)),
      'webhook-signature': signatures.join(' '),
    };
    return postOnce({ fetch, url, headers, body, timeout_ms }, signal);
  };
}

interface Post {
  fetch: typeof globalThis.fetch;
  url: string;
  headers: Record<string, string>;
  body: string;
  timeout_ms?: number;
}

/** Posts a message once. Does not follow redirects. */
export async function postOnce(
  { fetch, url, headers, body, timeout_ms = TIMEOUT_MS }: Post,
  signal: AbortSignal,
): Promise<SendResult> {
  try {
    const either = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: either });
    await response.body?.cancel();
    const { ok, status } = response;
    return {
      delivered: ok,
      response_status: status,
      error: ok ? null : `The receiver answered ${status}`,
      retry: status !== GONE,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { delivered: false, response_status: null, error: getReason(error), retry: !isDenied(error) };
  }
}
