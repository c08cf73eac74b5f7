import { describe, expect, it } from 'vitest';
import { auditSender } from '../../../src/api/service/audit-sender.ts';
import type { AuditEntry } from '../../../src/contracts/audit.ts';
import { asOutage } from '../../../src/domain/outages.ts';
import type { SendWebhook } from '../../../src/egress/webhook-sender.ts';

const PAUSES = { idle_ms: 3_600_000, first_ms: 1, longest_ms: 4 };
type Message = Parameters<SendWebhook>[0];
type Answer = Awaited<ReturnType<SendWebhook>>;

const entriesOf = (...ids: string[]) => ids.map((id) => ({ id }) as AuditEntry);
const DELIVERED: Answer = { delivered: true, response_status: 200, error: null, retry: true };
const REFUSED: Answer = { delivered: false, response_status: 500, error: 'The receiver answered 500', retry: true };

/** A queue of batches, and a receiver that answers by a script and then takes everything. */
function start({ batches, answers = [] }: { batches: (AuditEntry[] | Error | null)[]; answers?: Answer[] }) {
  const state = { sent: [] as Message[], logged: [] as string[], mosts: new Set<number>(), asked: 0 };
  const sender = auditSender({
    url: 'https://receiver.example:8443/audit?key=hidden',
    log: (message) => void state.logged.push(message),
    pauses: PAUSES,
    queue: {
      async sendNext(most, send) {
        state.asked += 1;
        state.mosts.add(most);
        const [next] = batches;
        if (next instanceof Error) {
          batches.shift();
          throw next;
        }
        if (!next) return batches.shift() === null ? null : 0;
        if (!(await send(next))) return 0;
        batches.shift();
        return next.length;
      },
    },
    async sendWebhook(message) {
      state.sent.push(message);
      return answers.shift() ?? DELIVERED;
    },
  });
  return { state, sender };
}

describe('the audit of a webhook', () => {
  it('is sent in messages whose id depends on the entries alone, without a break while there are full ones', async () => {
    const full = entriesOf(...Array.from({ length: 100 }, (_, number) => `e${number}`));
    const { state, sender } = start({ batches: [full, [...full].reverse(), entriesOf('z')] });
    await expect.poll(() => state.sent.length).toBe(3);
    await sender.stop();
    expect(state.mosts).toEqual(new Set([100]));
    expect(state.sent.map(({ payload, url, owner }) => ({ payload, url, owner }))).toEqual(
      [full, [...full].reverse(), entriesOf('z')].map((entries) => ({
        payload: { type: 'audit.entries', entries },
        url: 'https://receiver.example:8443/audit?key=hidden',
        owner: '',
      })),
    );
    const ids = state.sent.map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => /^audit_[\da-f]{32}$/.test(id))).toBe(true);
    const again = start({ batches: [full] });
    await expect.poll(() => again.state.sent.length).toBe(1);
    await again.sender.stop();
    expect(again.state.sent[0]?.id).toBe(ids[0]);
    expect(state.logged).toEqual([]);
  });

  it('waits for its receiver, and reports the begin and the end of the outage once, without what the address holds', async () => {
    const { state, sender } = start({
      batches: [entriesOf('a'), entriesOf('b')],
      answers: [REFUSED, REFUSED, REFUSED, DELIVERED],
    });
    await expect.poll(() => state.sent.length).toBe(4);
    sender.wake();
    await expect.poll(() => state.sent.length).toBe(5);
    await sender.stop();
    expect(state.sent.map(({ payload }) => (payload as { entries: AuditEntry[] }).entries[0]?.id)).toEqual([
      'a',
      'a',
      'a',
      'a',
      'b',
    ]);
    expect(new Set(state.sent.slice(0, 4).map(({ id }) => id)).size).toBe(1);
    expect(state.logged).toEqual([
      'The audit was not sent to receiver.example:8443 (AUDIT_WEBHOOK_URL): The receiver answered 500. Its entries wait in the database',
      'receiver.example:8443 (AUDIT_WEBHOOK_URL) receives the audit again',
    ]);
  });

  it('is looked for when there is something new, and rests otherwise', async () => {
    const { state, sender } = start({ batches: [] });
    await expect.poll(() => state.asked).toBe(1);
    sender.wake();
    await expect.poll(() => state.asked).toBe(2);
    await sender.stop();
    expect(state.asked).toBe(2);
  });

  it('survives a queue that fails: an unreachable database is tried again silently, anything else is reported', async () => {
    const outage = asOutage(new Error('no connection'), { code: 'database_unavailable', sentence: 'The database is down' });
    const { state, sender } = start({ batches: [outage, new Error('a defect'), entriesOf('a')] });
    for (const asked of [1, 2]) {
      await expect.poll(() => state.asked).toBe(asked);
      sender.wake();
    }
    await expect.poll(() => state.sent.length).toBe(1);
    await sender.stop();
    expect(state.logged).toEqual(['The audit was not sent: a defect']);
  });

  it('ends with a message in progress interrupted', async () => {
    const interrupted: unknown[] = [];
    const asked = Promise.withResolvers<void>();
    const sender = auditSender({
      ...{ url: 'https://receiver.example/', log: (message) => void interrupted.push(message), pauses: PAUSES },
      queue: { sendNext: async (_, send) => ((await send(entriesOf('a'))) ? 1 : 0) },
      sendWebhook: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          asked.resolve();
        }),
    });
    await asked.promise;
    await sender.stop();
    expect(interrupted).toEqual([]);
  });
});
