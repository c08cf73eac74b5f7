import { readFile } from 'node:fs/promises';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation, WEBHOOK_SECRET } from '../support/installation.ts';
import { freePort } from '../support/machine/processes.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';
import { type Received, startReceiver } from '../support/peers/receiver.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  here = await shareInstallation();
});
beforeEach(async () => {
  receiver = await startReceiver();
  return () => receiver.stop();
});
afterAll(() => here?.stop());

const deliveries = (task_id: string) => here.alice.ok(here.alice.get(`/api/tasks/${task_id}/webhooks`)) as Promise<any[]>;
const settled = (task_id: string) =>
  until('the delivery', async () => (await deliveries(task_id)).find(({ status }) => status !== 'pending')).catch(
    async (error) => {
      throw new Error(`${error.message}: ${JSON.stringify(await deliveries(task_id))}`);
    },
  );

/** What a receiver makes of a message: the library throws for a signature, an id or a time that does not fit. */
const verified = ({ headers, body }: Received) => new Webhook(WEBHOOK_SECRET).verify(body, headers as Record<string, string>);

it('sends webhook_url a message about a completed run that verifies, and shows the attempt', async () => {
  here.model.script(says('All is well.', { finish: 'length' }));
  const id = await here.workflow({ workflow: { webhook_url: receiver.url, title: 'Daily' } });
  const task_id = await here.prompt(id, 'How is it?');
  await here.ended(task_id);
  const delivery = await settled(task_id);
  expect(delivery).toMatchObject({
    status: 'delivered',
    url: receiver.url,
    attempts: [{ attempt: 1, response_status: 200, error: null }],
  });
  const [message] = receiver.received;
  expect(message!.headers['webhook-id']).toBe(delivery.id);
  expect(verified(message!)).toMatchObject({
    ...{ task_id, workflow_id: id, workflow_title: 'Daily', prompt: 'How is it?', response: 'All is well.' },
    ...{ status: 'completed', error: null, error_code: null, usage: { total_in: 10, total_out: 5 }, truncated: true },
    ...{ elapsed_seconds: expect.any(Number), timestamp: expect.stringMatching(/Z$/) },
  });
});

it('sends failed and halted runs to error_webhook_url only', async () => {
  const id = await here.workflow({ workflow: { webhook_url: 'http://127.0.0.1:9/never', error_webhook_url: receiver.url } });
  here.model.script(fails(400, { message: 'no such thing' }));
  const failed = await here.prompt(id);
  await here.ended(failed);
  await settled(failed);
  here.model.script(hangs('Well'));
  const asked = here.model.requests.length;
  const halted = await here.prompt(id);
  await until('the model call', async () => here.model.requests.length > asked);
  await here.alice.ok(here.alice.post(`/api/workflows/${id}/halt`));
  await here.ended(halted);
  await settled(halted);
  const sent = receiver.received.map(({ body }) => JSON.parse(body));
  expect(sent.map(({ status }) => status)).toEqual(['failed', 'halted']);
  expect(sent[0].error).toContain('no such thing');
});

describe('a message that is not taken', () => {
  const statuses = { refused: 503, gone: 410, moved: 302, led: 307 };
  type Answered = keyof typeof statuses;
  const receivers = {} as Record<Answered, Awaited<ReturnType<typeof startReceiver>>>;
  const delivered = {} as Record<Answered, any>;
  let elsewhere: Awaited<ReturnType<typeof startReceiver>>;
  // They wait for their second attempt at the same time.
  beforeAll(async () => {
    elsewhere = await startReceiver();
    const send = async ([name, status]: [string, number]) => {
      const refusing = await startReceiver({ location: elsewhere.url });
      refusing.answers(status);
      here.model.scriptPrompt(name, says('done'));
      const task_id = await here.prompt(await here.workflow({ workflow: { webhook_url: refusing.url } }), name);
      Object.assign(receivers, { [name]: refusing });
      Object.assign(delivered, { [name]: await settled(task_id) });
    };
    await Promise.all(Object.entries(statuses).map(send));
  });
  afterAll(() => Promise.all([elsewhere, ...Object.values(receivers)].map((it) => it.stop())));

  it('is sent again, under one webhook-id, and every attempt is kept', () => {
    expect(delivered.refused).toMatchObject({
      status: 'delivered',
      attempts: [
        { attempt: 1, response_status: 503, error: 'The receiver answered 503' },
        { attempt: 2, response_status: 200, error: null },
      ],
    });
    expect(new Set(receivers.refused.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('is tried by the engine for as long, and at such intervals, as the docs promise', async () => {
    const { events } = await here.driver.client.workflow.getHandle(`webhook-${delivered.refused.id}`).fetchHistory();
    const scheduled = events!.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
    const s = (time: unknown) => Number((time as { seconds?: unknown } | null)?.seconds);
    expect(
      scheduled.map(({ activityType, scheduleToCloseTimeout, retryPolicy: retry }) => ({
        name: activityType?.name,
        hours: s(scheduleToCloseTimeout) / 3_600,
        first_s: s(retry!.initialInterval),
        factor: retry!.backoffCoefficient,
        longest_s: s(retry!.maximumInterval),
        most_attempts: retry!.maximumAttempts,
      })),
    ).toEqual([{ name: 'deliver', hours: 24, first_s: 5, factor: 2, longest_s: 3_600, most_attempts: 0 }]);
    const docs = await Promise.all(
      ['webhooks', 'runbooks', 'operations'].map((page) => readFile(`${import.meta.dirname}/../../docs/${page}.md`, 'utf8')),
    );
    const [webhooks, runbooks, operations] = docs.map((text) => text.replace(/\s+/g, ' '));
    expect(webhooks).toContain('first after 5 s, then at doubling intervals of up to an hour, for 24 hours');
    expect(runbooks).toContain('Perdura tries again for 24 hours, then gives up');
    expect(operations).toContain('the same retries for 24 hours as other webhooks');
  });

  it('is given up if the receiver is gone for good', () => {
    expect(delivered.gone).toMatchObject({ status: 'failed', attempts: [{ attempt: 1, response_status: 410 }] });
  });

  it.each(['moved', 'led'] as const)('does not follow a receiver that leads elsewhere: %s', (name) => {
    const attempts = delivered[name].attempts.map((attempt: any) => attempt.response_status);
    expect(attempts).toEqual([statuses[name], 200]);
    expect(elsewhere.received).toEqual([]);
  });
});

it('delivers again on request, and 403s and 404s what is not the caller’s', async () => {
  here.model.script(says('done'));
  const task_id = await here.prompt(await here.workflow({ workflow: { webhook_url: receiver.url } }));
  const { id } = await settled(task_id);
  const path = `/api/tasks/${task_id}/webhooks/${id}/redeliver`;
  expect((await here.bob.post(path)).status).toBe(403);
  expect((await here.alice.post(`/api/tasks/${task_id}/webhooks/${task_id}/redeliver`)).status).toBe(404);
  expect((await here.alice.post(path)).status).toBe(202);
  const again = await settled(task_id);
  expect(again.attempts).toHaveLength(2);
  expect(receiver.received[1]!.body).toBe(receiver.received[0]!.body);
});

it('records a private address as denied and gives up; a closed port is tried on', async () => {
  here.model.script(says('one'), says('two'));
  const denied = await here.prompt(await here.workflow({ workflow: { webhook_url: 'http://169.254.169.254/latest' } }));
  expect(await settled(denied)).toMatchObject({
    status: 'failed',
    attempts: [{ response_status: null, error: 'Connections to 169.254.169.254 are not allowed from here' }],
  });
  const closed = await here.prompt(
    await here.workflow({ workflow: { webhook_url: `http://127.0.0.1:${await freePort()}/closed` } }),
  );
  const [pending] = await until('an attempt', async () => {
    const found = await deliveries(closed);
    return found[0]?.attempts.length > 0 && found;
  });
  expect(pending).toMatchObject({ status: 'pending', attempts: [{ error: expect.stringContaining('ECONNREFUSED') }] });
});
