import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '../../src/egress/guarded-fetch.ts';
import { webhookSender } from '../../src/egress/webhook-sender.ts';
import { type Received, startReceiver } from '../support/peers/receiver.ts';

const secretOf = (letter: string) => `whsec_${Buffer.alloc(24, letter).toString('base64')}`;
const [CURRENT, PREVIOUS, FOREIGN] = [secretOf('c'), secretOf('p'), secretOf('f')];

const open = createGuardedFetch(['127.0.0.1']);
const secretsOf = async (owner: string) => (owner === 'alice' ? [CURRENT, PREVIOUS] : [FOREIGN]);
const send = webhookSender({ fetch: open.fetch, listSecrets: secretsOf, timeout_ms: 1_000 });
const message = (url: string) => ({ id: 'msg_1', url, payload: { text: 'Grüße 😀' }, owner: 'alice' });
const never = () => new AbortController().signal;

let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  receiver = await startReceiver({ location: 'http://169.254.169.254/' });
});
afterAll(async () => {
  await Promise.all([receiver.stop(), open.close()]);
});

const DELIVERED = [200, 201, 202, 204, 206, 299];
const REDIRECTS = [300, 301, 302, 303, 304, 307, 308];
const REFUSED = [400, 401, 403, 404, 405, 408, 409, 411, 422, 425, 429, 451, 499];
const BROKEN = [500, 501, 502, 503, 504, 507, 599];

describe('a receiver that answers', () => {
  it.each(DELIVERED)('%i has the message', async (status) => {
    receiver.answers(status);
    const sent = await send(message(receiver.url), never());
    expect(sent).toEqual({ delivered: true, response_status: status, error: null, retry: true });
  });

  it.each([...REDIRECTS, ...REFUSED, ...BROKEN])('%i is tried again', async (status) => {
    receiver.answers(status);
    const asked = receiver.received.length;
    const sent = await send(message(receiver.url), never());
    const error = `The receiver answered ${status}`;
    expect(sent).toEqual({ delivered: false, response_status: status, error, retry: true });
    expect(receiver.received).toHaveLength(asked + 1);
  });

  it('410 is gone for good', async () => {
    receiver.answers(410);
    expect(await send(message(receiver.url), never())).toMatchObject({ delivered: false, response_status: 410, retry: false });
  });
});

describe('a receiver that', () => {
  const listening = async (onRequest: Parameters<typeof createServer>[1]) => {
    const server = createServer(onRequest as never).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const stop = async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    };
    return { url, stop };
  };

  it('does not answer in time is tried again', async () => {
    const silent = await listening(() => {});
    expect(await send(message(silent.url), never())).toEqual({
      ...{ delivered: false, response_status: null, retry: true },
      error: expect.stringContaining('timeout'),
    });
    await silent.stop();
  });

  it('answers with a body without end has the message', async () => {
    const endless = await listening((_, response) => void response.writeHead(200).write('x'));
    expect(await send(message(endless.url), never())).toMatchObject({ delivered: true, response_status: 200 });
    await endless.stop();
  });

  it('breaks the connection is tried again', async () => {
    const broken = await listening((_, response) => void response.destroy());
    expect(await send(message(broken.url), never())).toMatchObject({ delivered: false, response_status: null, retry: true });
    await broken.stop();
  });

  it.each(['http://169.254.169.254/', 'http://10.0.0.1/', 'http://[::1]:8080/'])('is at %s is not tried at all', async (url) => {
    expect(await send(message(url), never())).toMatchObject({ delivered: false, response_status: null, retry: false });
  });

  it('is being asked while the worker stops is left to the next one', async () => {
    const silent = await listening(() => {});
    const stop = new AbortController();
    const sent = send(message(silent.url), stop.signal);
    stop.abort(new Error('the worker stops'));
    await expect(sent).rejects.toThrow('the worker stops');
    await silent.stop();
  });
});

describe('a message', () => {
  const verify = (secret: string, { headers, body }: Received) =>
    new Webhook(secret).verify(body, headers as Record<string, string>);
  const last = () => receiver.received.at(-1) as Received;

  it('verifies with each secret of its owner, and with nobody else’s', async () => {
    await send(message(receiver.url), never());
    expect(verify(CURRENT, last())).toEqual({ text: 'Grüße 😀' });
    expect(verify(PREVIOUS, last())).toEqual({ text: 'Grüße 😀' });
    expect(() => verify(FOREIGN, last())).toThrow();
  });

  it.each([
    ['its body', ({ headers, body }: Received) => ({ headers, body: `${body} ` })],
    ['its id', ({ headers, body }: Received) => ({ headers: { ...headers, 'webhook-id': 'msg_2' }, body })],
    [
      'its time',
      ({ headers, body }: Received) => ({
        headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) },
        body,
      }),
    ],
  ])('does not verify once %s is changed', async (_, change) => {
    await send(message(receiver.url), never());
    expect(() => verify(CURRENT, change(last()))).toThrow(/signature/i);
  });

  it('does not verify when it is replayed later', async () => {
    const hour_ago = Date.now() - 3_600_000;
    const late = webhookSender({ fetch: open.fetch, listSecrets: secretsOf, now: () => hour_ago });
    await late(message(receiver.url), never());
    expect(() => verify(CURRENT, last())).toThrow(/timestamp/i);
  });

  it('has its id in each attempt', async () => {
    receiver.answers(503);
    await send(message(receiver.url), never());
    await send(message(receiver.url), never());
    expect(receiver.received.slice(-2).map(({ headers }) => headers['webhook-id'])).toEqual(['msg_1', 'msg_1']);
  });
});
