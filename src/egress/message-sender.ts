import { toChatMessage, toMail } from '../domain/alert-formats.ts';
import type { AlertMessage } from '../domain/alerts.ts';
import type { AlertChannelType } from '../domain/statuses.ts';
import type { Mailer } from './mailer.ts';
import { postOnce, type SendResult, type SendWebhook, type WebhookMessage } from './webhook-sender.ts';

/** A message about the end of a run, or about an alert, in the form of its channel. */
interface Message extends WebhookMessage {
  channel: AlertChannelType;
}

/** Sends one message once and returns the result; throws only if the signal is aborted. */
export type SendMessage = (message: Message, signal: AbortSignal) => Promise<SendResult>;

interface SenderOptions {
  sendWebhook: SendWebhook;
  fetch: typeof globalThis.fetch;
  mailer: Mailer;
  /** Returns the service's public address, for links to its dashboard; null: not known. */
  public_url(): string | null;
}

/** Only messages about alerts go to other channels than webhooks. */
export function messageSender({ sendWebhook, fetch, mailer, public_url }: SenderOptions): SendMessage {
  return async ({ channel, ...message }, signal) => {
    if (channel === 'webhook') return sendWebhook(message, signal);
    const { id, url } = message;
    const payload = message.payload as AlertMessage;
    if (channel === 'email')
      return mailer.send({ id, to: url, at: new Date(payload.timestamp), ...toMail(payload, public_url()) }, signal);
    const headers = { 'content-type': 'application/json', 'user-agent': 'Perdura-Webhooks/1' };
    return postOnce({ fetch, url, headers, body: JSON.stringify(toChatMessage(channel, payload, public_url())) }, signal);
  };
}
