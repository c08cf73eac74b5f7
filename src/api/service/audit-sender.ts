import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { AuditEntry } from '../../contracts/audit.ts';
import { findOutage } from '../../domain/outages.ts';
import type { SendWebhook } from '../../egress/webhook-sender.ts';
import type { AuditQueueStore } from '../../store/people/audit.ts';

interface SenderOptions {
  queue: AuditQueueStore;
  sendWebhook: SendWebhook;
  url: string;
  log(message: string): void;
  pauses?: { idle_ms: number; first_ms: number; longest_ms: number };
}

interface AuditSender {
  /** Notifies the sender of new entries. */
  wake(): void;
  /** Stops the sender. An entry that is being sent is interrupted, and stays in the queue. */
  stop(): Promise<void>;
}

const MOST_IN_ONE = 100;
/**
 * The pauses between attempts. Another process may write entries; one that ended may have left some. After a failure, the
 * receiver is tried again after doubling pauses.
 */
const PAUSES = { idle_ms: 5_000, first_ms: 1_000, longest_ms: 60_000 };

/** Sends the queue of the audit to a webhook: in order, each entry at least once. */
export function auditSender({ queue, sendWebhook, url, log, pauses = PAUSES }: SenderOptions): AuditSender {
  const stopping = new AbortController();
  const receiver = new URL(url).host;
  let awake = new AbortController();
  let failures = 0;

  async function send(entries: readonly AuditEntry[]): Promise<boolean> {
    const payload = { type: 'audit.entries', entries };
    const { delivered, error } = await sendWebhook({ id: messageId(entries), url, payload, owner: '' }, stopping.signal);
    if (!delivered && failures === 0)
      log(`The audit was not sent to ${receiver} (AUDIT_WEBHOOK_URL): ${error}. Its entries wait in the database`);
    if (delivered && failures > 0) log(`${receiver} (AUDIT_WEBHOOK_URL) receives the audit again`);
    failures = delivered ? 0 : failures + 1;
    return delivered;
  }

  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      awake = new AbortController();
      const sent_count = await queue.sendNext(MOST_IN_ONE, send).catch((error: Error) => {
        // An unreachable database is tried again without a message.
        if (!stopping.signal.aborted && !findOutage(error)) log(`The audit was not sent: ${error.message}`);
        return null;
      });
      if (sent_count === MOST_IN_ONE) continue;
      const ends = failures > 0 ? [stopping.signal] : [stopping.signal, awake.signal];
      const pause = failures > 0 ? Math.min(pauses.first_ms * 2 ** (failures - 1), pauses.longest_ms) : pauses.idle_ms;
      await wait(pause, undefined, { signal: AbortSignal.any(ends), ref: false }).catch(() => {});
    }
  }
  const loop = keep();
  return {
    wake: () => awake.abort(),
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}

/** Returns an id that depends only on the entries, so that a receiver which skips known ids misses no entry. */
const messageId = (entries: readonly AuditEntry[]): string =>
  `audit_${createHash('sha256')
    .update(entries.map(({ id }) => id).join())
    .digest('hex')
    .slice(0, 32)}`;
