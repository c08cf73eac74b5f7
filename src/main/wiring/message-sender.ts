import { createMailer, type Mailer } from '../../egress/mailer.ts';
import { messageSender, type SendMessage } from '../../egress/message-sender.ts';
import { webhookSender } from '../../egress/webhook-sender.ts';
import type { Config } from '../config.ts';
import type { SharedServices } from '../core.ts';

/** The operator chose the mail server, so it may be private; the operator's `SMTP_RECIPIENTS` limits who gets mail. */
export const openMailer = ({ SMTP_URL, SMTP_FROM, SMTP_RECIPIENTS }: Config): Mailer =>
  createMailer({ url: SMTP_URL ?? null, from: SMTP_FROM ?? null, recipients: SMTP_RECIPIENTS });

/** Sends messages about runs and alerts to the addresses that users set. What it returns holds no secret. */
export function createMessageSender({ store, setting, egress, secrets }: SharedServices): SendMessage {
  const { fetch } = egress.configuration;
  const send = messageSender({
    sendWebhook: webhookSender({ fetch, listSecrets: (owner) => store.webhookSecrets.valid(owner, setting.webhook_secret) }),
    fetch,
    mailer: openMailer(setting.config),
    public_url: setting.public_url,
  });
  return async (message, signal) => secrets.redact.value(await send(message, signal));
}
