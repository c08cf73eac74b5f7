import { createTransport } from 'nodemailer';
import { inOneLine } from '../domain/reason.ts';
import type { SendResult } from './webhook-sender.ts';

/** Sends e-mail to the recipients that the operator allows. */
export interface Mailer {
  /** Returns the reason why nothing is sent to an address; null if it is allowed. */
  refusal(address: string): string | null;
  /** Sends one e-mail once and returns the result. Its `Message-ID` follows from `id`, so a repeated one can be recognised. */
  send(mail: Mail, signal: AbortSignal): Promise<SendResult>;
}

interface Mail {
  id: string;
  to: string;
  at: Date;
  subject: string;
  text: string;
}

interface MailerOptions {
  /** `smtp:` or, with TLS from the first byte, `smtps:`; null: no e-mail is sent. */
  url: string | null;
  /** The sender: an address, or a name and `<address>`. */
  from: string | null;
  /** Addresses, domains such as `@example.com`, or `*`; empty: the domain of the sender. */
  recipients: readonly string[];
  timeout_ms?: number;
}

const TIMEOUT_MS = 20_000;
const LARGEST_CODE = 599;

export function createMailer({ url, from, recipients, timeout_ms = TIMEOUT_MS }: MailerOptions): Mailer {
  const own_domain = getDomain(from?.replace(/>$/, '') ?? '');
  const allowed = (recipients.length > 0 ? recipients : [own_domain]).map((entry) => entry.toLowerCase());
  const refusal = (address: string): string | null => {
    if (!url || !from) return 'This installation sends no e-mail: its operator has to set SMTP_URL and SMTP_FROM';
    const lower = address.toLowerCase();
    if (allowed.some((entry) => entry === '*' || entry === lower || entry === getDomain(lower))) return null;
    return `${address} is not among the recipients that the operator allows (SMTP_RECIPIENTS)`;
  };
  return {
    refusal,
    async send({ id, to, at, subject, text }, signal) {
      const reason = refusal(to);
      // The operator may allow it within the time of the retries.
      if (reason) return { delivered: false, response_status: null, error: reason, retry: true };
      const limits = { connectionTimeout: timeout_ms, greetingTimeout: timeout_ms, socketTimeout: timeout_ms };
      const transport = createTransport({ url: url!, ...limits, disableFileAccess: true, disableUrlAccess: true });
      const time_limit = AbortSignal.timeout(timeout_ms);
      try {
        const mail = { from: from!, to: { name: '', address: to }, subject, text, date: at, messageId: `<${id}${own_domain}>` };
        const headers = { 'Auto-Submitted': 'auto-generated' };
        // The signal closes the connection: a slow server must not take a message that is sent again.
        await transport.sendMail({ ...mail, headers, signal: AbortSignal.any([signal, time_limit]) });
        return { delivered: true, response_status: null, error: null, retry: false };
      } catch (error) {
        signal.throwIfAborted();
        return toFailure(time_limit.aborted ? new Error('it did not answer in time') : error);
      } finally {
        transport.close();
      }
    },
  };
}

const getDomain = (address: string) => address.slice(address.lastIndexOf('@'));

/** A server that refuses the recipient for good is not asked again. */
function toFailure(error: unknown): SendResult {
  const { code, responseCode = 0, message } = error as Error & { code?: string; responseCode?: number };
  const is_final = code === 'EENVELOPE' && responseCode >= 500 && responseCode <= LARGEST_CODE;
  return {
    delivered: false,
    response_status: responseCode || null,
    error: `The mail server did not take it: ${inOneLine(message)}`,
    retry: !is_final,
  };
}
