import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMailer } from '../../src/egress/mailer.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { startSmtpReceiver } from '../support/peers/smtp-receiver.ts';
import { compareIn } from '../support/runs/comparison.ts';
import { until } from '../support/until.ts';

const HOSTILE = '<!channel> & <https://evil.example|here> @everyone [x](https://evil.example) **Many**';
const KEY = 'T024X7/B07QZ1/9xKq2LmN8vRt5Yw';
const PASSWORD = 'password-of-the-mail-server';
const PUBLIC = 'https://perdura.example.com';

let here: TestInstallation;
let smtp: Awaited<ReturnType<typeof startSmtpReceiver>>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  smtp = await startSmtpReceiver();
  here = await startTestInstallation({
    env: {
      RECONCILE_SECONDS: '86400',
      SMTP_URL: `smtp://perdura:${PASSWORD}@${smtp.address}`,
      SMTP_FROM: 'Perdura <alerts@example.com>',
      PERDURA_PUBLIC_URL: PUBLIC,
    },
    setting: { public_url: () => PUBLIC },
  });
});
beforeEach(async () => {
  receiver = await startReceiver();
  smtp.mails.length = 0;
  return () => receiver.stop();
});
afterAll(async () => {
  await here?.stop();
  await smtp?.stop();
});

const secretUrl = () => receiver.url.replace('/hook', `/services/${KEY}`);
const post = (values: object, who = here.alice) =>
  who.post('/api/alerts', { name: HOSTILE, measure: 'failure_rate', threshold: 50, min_runs: 1, ...values });
const create = async (values: object) => here.alice.ok(post(values), 201);
const eventsOf = (id: string) => here.alice.ok(here.alice.get(`/api/alerts/${id}/events`)) as Promise<any[]>;
const minute = async () => {
  await here.core.store.alerts.measure(new Date());
  await compareIn(here, 0);
};
async function ran(workflow_id: string, ...script: Parameters<typeof here.model.script>) {
  here.model.script(...script);
  await here.ended(await here.prompt(workflow_id));
}
/** Fires an alert with these channels. Returns it and its event once nothing is pending. */
async function fired(channels: object[]) {
  const workflow_id = await here.workflow();
  const alert = await create({ workflow_id, channels });
  await ran(workflow_id, fails(401));
  await minute();
  const event = await until('the deliveries', async () => {
    const [first] = await eventsOf(alert.id);
    return first && first.delivery_status !== 'pending' && first;
  });
  return { workflow_id, alert, event };
}
const bodies = () => receiver.received.map(({ body }) => JSON.parse(body));

describe('an alert notifies a chat', () => {
  it('Slack: text and blocks, in which a name cannot mention anyone', async () => {
    const { alert, event } = await fired([{ type: 'slack', url: secretUrl() }]);
    const [message, ...more] = bodies();
    expect(more).toEqual([]);
    const name = '&lt;!channel&gt; &amp; &lt;https://evil.example|here&gt; @everyone [x](https://evil.example) **Many**';
    const mrkdwn = (text: string) => ({ type: 'mrkdwn', text, verbatim: true });
    expect(message).toEqual({
      text: `Alert fired: ${name}`,
      blocks: [
        { type: 'section', text: mrkdwn(`*Alert fired*: ${name}`) },
        {
          type: 'section',
          fields: [
            mrkdwn('*Measured*\n100 % of the runs failed'),
            mrkdwn('*Fires at*\n50 % of the runs failed'),
            mrkdwn('*Window*\n60 minutes'),
            mrkdwn(expect.stringMatching(/^\*Fired at\*\n\d{4}-.*Z$/) as unknown as string),
          ],
        },
        { type: 'section', text: mrkdwn(`<${PUBLIC}/dashboard/alerts/${alert.id}|Open the alert>`) },
      ],
    });
    expect(event.deliveries).toEqual([
      { channel: 'slack', to: new URL(receiver.url).host, status: 'delivered', attempts: 1, error: null },
    ]);
  });

  it('Teams: an Adaptive Card in which a name is not Markdown', async () => {
    const { alert } = await fired([{ type: 'teams', url: secretUrl() }]);
    const [message] = bodies();
    expect(message).toMatchObject({
      type: 'message',
      attachments: [
        { contentType: 'application/vnd.microsoft.card.adaptive', content: { type: 'AdaptiveCard', version: '1.4' } },
      ],
    });
    const { body, actions } = message.attachments[0].content;
    expect(body[0]).toMatchObject({ type: 'TextBlock', text: 'Alert fired' });
    expect(body[1]).toEqual({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: HOSTILE }] });
    expect(body[2].facts[0]).toEqual({ title: 'Measured', value: '100 % of the runs failed' });
    expect(actions).toEqual([{ type: 'Action.OpenUrl', title: 'Open the alert', url: `${PUBLIC}/dashboard/alerts/${alert.id}` }]);
  });

  it('Discord: an embed that notifies nobody', async () => {
    const { alert } = await fired([{ type: 'discord', url: secretUrl() }]);
    const [message] = bodies();
    expect(message.allowed_mentions).toEqual({ parse: [] });
    expect(message.content).toBeUndefined();
    expect(message.embeds[0]).toMatchObject({
      title: 'Alert fired',
      url: `${PUBLIC}/dashboard/alerts/${alert.id}`,
      color: 0xc92a2a,
    });
    expect(message.embeds[0].description).toContain(String.raw`\<!channel\>`);
    expect(message.embeds[0].description).toContain(String.raw`\@everyone \[x\]\(https\://evil.example\) \*\*Many\*\*`);
    expect(message.embeds[0].fields[1]).toEqual({ name: 'Fires at', value: '50 % of the runs failed', inline: true });
  });

  it('and everyone else, each once, also when it is resolved', async () => {
    const webhook = { type: 'webhook', url: receiver.url };
    const slack = { type: 'slack', url: receiver.url };
    const { workflow_id, alert, event } = await fired([
      webhook,
      slack,
      slack,
      { type: 'email', to: ['ops@example.com', 'dev@example.com'] },
    ]);
    expect(event.deliveries.map(({ channel, to }: any) => [channel, to])).toEqual([
      ['webhook', new URL(receiver.url).host],
      ['slack', new URL(receiver.url).host],
      ['email', 'ops@example.com'],
      ['email', 'dev@example.com'],
    ]);
    expect(event).toMatchObject({ delivery_status: 'delivered', delivery_attempts: 4, delivery_error: null });
    await ran(workflow_id, says('Fine.'));
    await ran(workflow_id, says('Fine.'));
    await minute();
    await until('the mails', async () => smtp.mails.length === 4);
    await until('the posts', async () => receiver.received.length === 4);
    const texts = bodies().map((body) => body.text ?? body.type);
    expect(texts.map((text) => text.replace(/: .*/, '')).sort()).toEqual(
      ['Alert fired', 'Alert resolved', 'alert.fired', 'alert.resolved'].sort(),
    );
    expect((await eventsOf(alert.id)).map(({ state }) => state)).toEqual(['ok', 'firing']);
  });
});

describe('an alert by e-mail', () => {
  it('says what fired, and where to look, to each recipient alone', async () => {
    const { alert, event } = await fired([{ type: 'email', to: ['ops@example.com', 'dev@example.com'] }]);
    expect(
      smtp.mails.map(({ from, to, login }) => ({ from, to, login })).toSorted((a, b) => (a.to[0]! < b.to[0]! ? -1 : 1)),
    ).toEqual([
      { from: 'alerts@example.com', to: ['dev@example.com'], login: `perdura ${PASSWORD}` },
      { from: 'alerts@example.com', to: ['ops@example.com'], login: `perdura ${PASSWORD}` },
    ]);
    const [mail] = smtp.mails;
    const rows = await here.sql('SELECT d.id, d.url FROM webhook_deliveries d WHERE d.alert_event_id = $1', event.id);
    const own = (rows as { id: string; url: string }[]).find(({ url }) => url === mail!.to[0]);
    expect(mail!.headers).toMatchObject({
      subject: `Alert fired: ${HOSTILE}`,
      from: 'Perdura <alerts@example.com>',
      'message-id': `<${own!.id}@example.com>`,
      'auto-submitted': 'auto-generated',
    });
    expect(mail!.text).toContain('Measured: 100 % of the runs failed\nFires at: 50 % of the runs failed\nWindow: 60 minutes');
    expect(mail!.text).toContain(`${PUBLIC}/dashboard/alerts/${alert.id}`);
  });

  it('is sent again, as the same message, if the server refuses for now', { timeout: 60_000 }, async () => {
    smtp.answers('451 try again later');
    const { event } = await fired([{ type: 'email', to: ['ops@example.com'] }]);
    expect(event.deliveries).toEqual([
      { channel: 'email', to: 'ops@example.com', status: 'delivered', attempts: 2, error: null },
    ]);
    const [{ id }] = (await here.sql('SELECT id FROM webhook_deliveries WHERE alert_event_id = $1', event.id)) as [
      { id: string },
    ];
    expect(smtp.mails.map(({ headers }) => headers['message-id'])).toEqual([`<${id}@example.com>`]);
  });

  it('is given up if the server knows no such recipient, and the others still get theirs', async () => {
    smtp.answers('550 no such mailbox', '250 ok');
    const { event } = await fired([{ type: 'email', to: ['gone@example.com', 'ops@example.com'] }]);
    expect(event.deliveries.map(({ status, attempts }: any) => [status, attempts]).sort()).toEqual([
      ['delivered', 1],
      ['failed', 1],
    ]);
    expect(event).toMatchObject({ delivery_status: 'failed', delivery_error: expect.stringContaining('550 no such mailbox') });
    expect(smtp.mails).toHaveLength(1);
  });

  it('goes only to recipients that the operator allows', async () => {
    const refused = await post({ channels: [{ type: 'email', to: ['ops@example.com', 'victim@elsewhere.example'] }] });
    expect(refused).toMatchObject({
      status: 422,
      body: {
        errors: [
          {
            path: 'channels.0.to.1',
            message: 'victim@elsewhere.example is not among the recipients that the operator allows (SMTP_RECIPIENTS)',
          },
        ],
      },
    });
    const people = Array.from({ length: 51 }, (_, at) => `p${at}@example.com`);
    const others = people.map((address) => `q${address}`);
    const twice = [people, others].map((to) => ({ type: 'email', to }));
    expect(await post({ channels: twice })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'channels', message: 'Names 102 addresses; at most 100 are taken' }] },
    });
    const { id } = await create({});
    const change = { channels: [{ type: 'email', to: ['victim@example.com.elsewhere.example'] }] };
    expect(await here.alice.put(`/api/alerts/${id}`, change)).toMatchObject({ status: 422 });
    expect((await here.alice.ok(here.alice.get(`/api/alerts/${id}`))).channels).toEqual([]);
  });

  it('of an installation without a mail server is refused, and one that says nothing is not waited for', async () => {
    const none = createMailer({ url: null, from: null, recipients: [] });
    expect(none.refusal('ops@example.com')).toContain('has to set SMTP_URL and SMTP_FROM');
    const silent = await startSmtpReceiver();
    silent.silence();
    const mailer = createMailer({ url: `smtp://${silent.address}`, from: 'a@example.com', recipients: [], timeout_ms: 200 });
    const mail = { id: 'x', to: 'b@example.com', at: new Date(), subject: 's', text: 't' };
    expect(await mailer.send(mail, new AbortController().signal)).toMatchObject({ delivered: false, retry: true });
    await silent.stop();
  });

  it('is not taken by a slow server after it was given up, since it is sent again', async () => {
    const slow = await startSmtpReceiver();
    slow.dawdle(150);
    const mailer = createMailer({ url: `smtp://${slow.address}`, from: 'a@example.com', recipients: [], timeout_ms: 400 });
    const mail = { id: 'x', to: 'b@example.com', at: new Date(), subject: 's', text: 't' };
    expect(await mailer.send(mail, new AbortController().signal)).toEqual({
      ...{ delivered: false, response_status: null, retry: true },
      error: 'The mail server did not take it: it did not answer in time',
    });
    await until('the end of the connection', async () => slow.isUnused());
    expect(slow.mails).toEqual([]);
    await slow.stop();
  });
});

describe('the address of a channel', () => {
  it('is a secret: replies show its host, and what they show can be sent back', async () => {
    const { id, channels } = await create({ channels: [{ type: 'slack', url: secretUrl() }] });
    const { host } = new URL(receiver.url);
    expect(channels).toEqual([{ type: 'slack', url: expect.stringMatching(new RegExp(`^http://${host}/\\*{8}#[0-9a-f]{8}$`)) }]);
    const changed = await here.alice.ok(
      here.alice.put(`/api/alerts/${id}`, {
        channels: [{ type: 'discord', url: 'https://discord.com/api/webhooks/77/kE9zz_q' }, ...channels],
      }),
    );
    expect(JSON.stringify([changed, await here.alice.ok(here.alice.get('/api/alerts'))])).not.toMatch(/9xKq2LmN8vRt5Yw|kE9zz_q/);
    const [row] = (await here.sql('SELECT channels FROM alerts WHERE id = $1', id)) as [{ channels: { url: string }[] }];
    expect(row.channels.map(({ url }) => url)).toEqual(['https://discord.com/api/webhooks/77/kE9zz_q', secretUrl()]);
    const foreign = await post({ channels });
    expect(foreign).toMatchObject({ status: 422, body: { errors: [{ path: 'channels.0.url' }] } });
  });

  it("is nobody else's to read, change or try", async () => {
    const { id } = await create({ channels: [{ type: 'slack', url: secretUrl() }] });
    expect(await here.bob.get(`/api/alerts/${id}`)).toMatchObject({ status: 403 });
    expect(await here.bob.put(`/api/alerts/${id}`, { channels: [] })).toMatchObject({ status: 403 });
    expect(await here.bob.post(`/api/alerts/${id}/test`)).toMatchObject({ status: 403 });
    expect(receiver.received).toEqual([]);
  });

  it('is not dialled if it is forbidden', async () => {
    const { event } = await fired([{ type: 'slack', url: 'http://169.254.169.254/latest/T024X7' }]);
    expect(event.deliveries).toEqual([
      { channel: 'slack', to: '169.254.169.254', status: 'failed', attempts: 1, error: expect.stringMatching(/./) },
    ]);
    expect(event.delivery_error).not.toContain('T024X7');
  });
});

describe('a test of an alert', () => {
  it('sends to each address once and reports the outcome', async () => {
    receiver.answers(404);
    const { id } = await create({
      channels: [
        { type: 'discord', url: secretUrl() },
        { type: 'email', to: ['ops@example.com'] },
      ],
    });
    const { results } = await here.alice.ok(here.alice.post(`/api/alerts/${id}/test`));
    expect(results).toEqual([
      { channel: 'discord', to: new URL(receiver.url).host, delivered: false, error: 'The receiver answered 404' },
      { channel: 'email', to: 'ops@example.com', delivered: true, error: null },
    ]);
    expect(bodies()).toMatchObject([{ embeds: [{ title: 'Test of an alert' }] }]);
    expect(smtp.mails.map(({ headers }) => headers.subject)).toEqual([`Test of an alert: ${HOSTILE}`]);
    expect(await eventsOf(id)).toEqual([]);
  });

  it('sends few messages at a time', async () => {
    const people = Array.from({ length: 23 }, (_, at) => `p${at}@example.com`);
    const { id } = await create({ channels: [{ type: 'email', to: people }] });
    const { results } = await here.alice.ok(here.alice.post(`/api/alerts/${id}/test`));
    expect(results.map(({ to, delivered }: any) => [to, delivered])).toEqual(people.map((address) => [address, true]));
    expect(smtp.mostAtATime()).toBeLessThanOrEqual(10);
  });

  it('needs an address', async () => {
    const { id } = await create({});
    expect(await here.alice.post(`/api/alerts/${id}/test`)).toMatchObject({ status: 409, body: { code: 'no_channel' } });
  });
});
