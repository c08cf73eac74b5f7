import { describe, expect, it, vi } from 'vitest';
import { auditSender } from '../../src/api/service/audit-sender.ts';
import { auditTrail } from '../../src/api/service/audit-trail.ts';
import type { NewAuditEntry } from '../../src/store/people/audit.ts';

const ENDPOINT = { operation: 'update_skill', access: 'write', audited: true, path: '/api/skills/{id}' };
const REQUEST = {
  caller: { key: 'local:alice', login: 'alice' },
  params: { id: 's-1' },
  url: '/api/skills/s-1?x=private',
  id: 'r-1',
  ip: '127.0.0.1',
};

/** The entries that an answered request leaves in the database, and the lines that it leaves in the log. */
async function recordedOf(answer: { status: number; endpoint?: object; request?: object }) {
  const entries: NewAuditEntry[] = [];
  const lines: string[] = [];
  const trail = auditTrail({
    store: { add: async (batch) => void entries.push(...batch) },
    stream: { write: (line) => void lines.push(line) },
    log: () => {},
  });
  const { status, endpoint = {}, request = {} } = answer;
  await trail.record({ ...ENDPOINT, ...endpoint } as never, { ...REQUEST, ...request } as never, { status, made_id: null });
  return { entries, lines };
}

/** Answers after which nobody can say that the person did not try; and those of a service that did not look at the request. */
const RECORDED = [
  200, 201, 202, 204, 302, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 423, 428, 500, 501, 502, 504,
];
const LEFT_OUT = [429, 503];

describe('the audit has an attempt, whatever its answer', () => {
  it.each(RECORDED)('%i', async (status) => {
    const { entries, lines } = await recordedOf({ status });
    expect(entries).toMatchObject([
      { principal: 'local:alice', operation: 'update_skill', resource_type: 'skills', resource_id: 's-1', status },
    ]);
    expect(lines.map((line) => JSON.parse(line).audit)).toEqual(entries);
    expect(lines.join()).not.toContain('private');
  });

  it.each(LEFT_OUT)('but not %i, of which there may be any number', async (status) => {
    expect(await recordedOf({ status })).toEqual({ entries: [], lines: [] });
  });

  it('but not of somebody who is nobody, nor of what only reads', async () => {
    const none = { entries: [], lines: [] };
    expect(await recordedOf({ status: 403, request: { caller: undefined } })).toEqual(none);
    expect(await recordedOf({ status: 403, endpoint: { access: null } })).toEqual(none);
    expect(await recordedOf({ status: 403, endpoint: { audited: false } })).toEqual(none);
    const audited = (body: { write: boolean }) => body.write;
    expect(await recordedOf({ status: 403, endpoint: { audited }, request: { body: { write: false } } })).toEqual(none);
    expect((await recordedOf({ status: 403, endpoint: { audited }, request: { body: { write: true } } })).entries).toHaveLength(
      1,
    );
  });
});

it('the audit keeps a thousand entries while the database is busy, and has the others in the log', async () => {
  const [stored, logged]: [unknown[], string[]] = [[], []];
  const trail = auditTrail({
    store: { add: async (batch) => void stored.push(...batch) },
    stream: null,
    log: (line) => void logged.push(line),
  });
  const record = (id: number) =>
    trail.record(ENDPOINT as never, { ...REQUEST, id: `r-${id}` } as never, { status: 200, made_id: null });
  await Promise.all(Array.from({ length: 1_002 }, (_, id) => record(id)));
  expect(stored).toHaveLength(1_000);
  expect(logged.map((line) => /"request_id":"([^"]+)"/.exec(line)?.[1])).toEqual(['r-1000', 'r-1001']);
});

it('the webhook of the audit is tried again in the longest pause at most, however often it has failed', async () => {
  const lines: string[] = [];
  let is_down = true;
  let attempts = 0;
  const sender = auditSender({
    // The first of these pauses, doubled thirty times, is twelve days.
    pauses: { idle_ms: 60_000, first_ms: 1, longest_ms: 4 },
    queue: { sendNext: async (_, send) => ((await send([{ id: 'entry' }] as never)) ? 1 : 0) },
    async sendWebhook() {
      attempts += 1;
      return { delivered: !is_down, response_status: null, error: is_down ? 'nobody answers' : null, retry: true };
    },
    url: 'https://receiver.example/audit?key=hidden',
    log: (line) => void lines.push(line),
  });
  await vi.waitFor(() => expect(attempts).toBeGreaterThan(30), 10_000);
  is_down = false;
  await vi.waitFor(() => expect(lines).toHaveLength(2));
  await sender.stop();
  expect(lines).toEqual([
    'The audit was not sent to receiver.example (AUDIT_WEBHOOK_URL): nobody answers. Its entries wait in the database',
    'receiver.example (AUDIT_WEBHOOK_URL) receives the audit again',
  ]);
});
