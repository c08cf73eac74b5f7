import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createGuardedFetch, type GuardedFetch } from '../../../src/egress/guarded-fetch.ts';
import { webhookSender } from '../../../src/egress/webhook-sender.ts';
import { findFreePort } from '../../../src/embedded/ports.ts';
import { startReceiver } from '../../support/peers/receiver.ts';

const secret = () => `whsec_${randomBytes(24).toString('base64')}`;
const [first, second] = [secret(), secret()];
const payload = { status: 'completed', text: 'äöü' };

let receiver: Awaited<ReturnType<typeof startReceiver>>;
let egress: GuardedFetch;
beforeAll(async () => {
  receiver = await startReceiver({ location: 'https://elsewhere.example/' });
  egress = createGuardedFetch(['127.0.0.1']);
});
afterAll(async () => {
  await receiver.stop();
  await egress.close();
});

const senderOf = (fetch = egress.fetch, more: { now?: () => number } = {}) =>
  webhookSender({ fetch, listSecrets: async (owner) => (owner === 'alice' ? [first, second] : [second]), ...more });
const signal = new AbortController().signal;
const message = (more: Partial<{ url: string; owner: string }> = {}) => ({
  id: 'msg_1',
  url: receiver.url,
  payload,
  owner: 'alice',
  ...more,
});

describe('a webhook', () => {
  it('is signed with each secret of its owner, and verifies with any of them', async () => {
    expect(await senderOf()(message(), signal)).toEqual({ delivered: true, response_status: 200, error: null, retry: true });
    const { headers, body } = receiver.received.at(-1)!;
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Perdura-Webhooks/1',
      'webhook-id': 'msg_1',
    });
    for (const one of [first, second]) expect(new Webhook(one).verify(body, headers as never)).toEqual(payload);
    expect(() => new Webhook(secret()).verify(body, headers as never)).toThrow();
    await senderOf()(message({ owner: 'bob' }), signal);
    const bobs = receiver.received.at(-1)!;
    expect(() => new Webhook(first).verify(bobs.body, bobs.headers as never)).toThrow();
    expect(new Webhook(second).verify(bobs.body, bobs.headers as never)).toEqual(payload);
  });

  it('states the second in which it is sent', async () => {
    await senderOf(egress.fetch, { now: () => 1_767_225_600_999 })(message(), signal);
    expect(receiver.received.at(-1)?.headers['webhook-timestamp']).toBe('1767225600');
  });

  it.each([
    [200, true, true],
    [201, true, true],
    [204, true, true],
    [301, false, true],
    [302, false, true],
    [307, false, true],
    [400, false, true],
    [401, false, true],
    [404, false, true],
    [408, false, true],
    [409, false, true],
    [410, false, false],
    [429, false, true],
    [500, false, true],
    [503, false, true],
  ])('that is answered with %i', async (status, delivered, retry) => {
    const before = receiver.received.length;
    receiver.answers(status);
    expect(await senderOf()(message(), signal)).toEqual({
      ...{ delivered, response_status: status, retry },
      error: delivered ? null : `The receiver answered ${status}`,
    });
    // A redirect is not followed: the receiver is the one that was named.
    expect(receiver.received).toHaveLength(before + 1);
  });

  it('to a receiver that is down is tried again, and to a forbidden one is not', async () => {
    const none = { delivered: false, response_status: null };
    expect(await senderOf()(message({ url: `http://127.0.0.1:${await findFreePort(21_000)}/` }), signal)).toEqual({
      ...{ ...none, retry: true },
      error: expect.stringContaining('ECONNREFUSED'),
    });
    expect(await senderOf()(message({ url: 'http://10.0.0.1/' }), signal)).toEqual({
      ...{ ...none, retry: false },
      error: 'Connections to 10.0.0.1 are not allowed from here',
    });
  });

  it('reads nothing of the answer', async () => {
    let cancelled = false;
    const body = new ReadableStream({
      cancel() {
        cancelled = true;
      },
    });
    await senderOf((async () => new Response(body)) as never)(message(), signal);
    expect(cancelled).toBe(true);
  });

  /** A fetch that ends only with its signal. */
  const endless = ((_: unknown, init: RequestInit) =>
    new Promise((_resolve, reject) => {
      init.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    })) as unknown as typeof globalThis.fetch;

  it('is given up after 15 seconds without an answer, and tried again', async () => {
    const timeout = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => (ms === 15_000 ? AbortSignal.abort(new Error('too late')) : signal));
    const fetch = (async (_: unknown, init: RequestInit) => init.signal?.throwIfAborted()) as unknown as typeof globalThis.fetch;
    try {
      expect(await senderOf(fetch)(message(), signal)).toEqual({
        ...{ delivered: false, response_status: null, error: 'too late', retry: true },
      });
    } finally {
      timeout.mockRestore();
    }
  });

  it('that is aborted has no result', async () => {
    const stop = new AbortController();
    const sent = senderOf(endless)(message(), stop.signal);
    setImmediate(() => stop.abort(new Error('shutting down')));
    await expect(sent).rejects.toThrow('shutting down');
  });
});
