import { describe, expect, it } from 'vitest';
import type { AlertChannel } from '../../src/contracts/alerts.ts';
import { toChatMessage, toMail } from '../../src/domain/alert-formats.ts';
import type { AlertMessage } from '../../src/domain/alerts.ts';
import { createMailer } from '../../src/egress/mailer.ts';
import { maskChannels, unmaskChannels } from '../../src/store/resources/alert-channels.ts';

const FIRED: AlertMessage = {
  type: 'alert.fired',
  timestamp: '2031-01-02T03:05:07.000Z',
  data: {
    ...{ alert_id: '0198a3c4-5e17-7d2b-9c41-3f60a7b21e53', name: 'Spending', measure: 'spend', value: 13, threshold: 11 },
    ...{ window_minutes: 7, workflow_id: null, budget_id: null, fired_at: '2031-01-02T03:05:07.000Z' },
  },
};
const ADDRESS = `https://perdura.example/dashboard/alerts/${FIRED.data.alert_id}`;

describe('the address of an alert', () => {
  it.each(['slack', 'teams', 'discord'] as const)('is in a message to %s if the installation has one', (channel) => {
    const send = (public_url: string | null) => JSON.stringify(toChatMessage(channel, FIRED, public_url));
    expect(send('https://perdura.example')).toContain(ADDRESS);
    expect(send(null)).toContain('Spending');
    expect(send(null)).not.toMatch(/dashboard|Open the alert|https:\/\/perdura/);
  });

  it('ends an e-mail if the installation has one', () => {
    const lines = ['Alert fired: Spending', '', 'Measured: $13.00 spent', 'Fires at: $11.00 spent', 'Window: 7 minutes'];
    const text = `${[...lines, 'Fired at: 2031-01-02T03:05:07.000Z'].join('\n')}\n`;
    expect(toMail(FIRED, null)).toEqual({ subject: 'Alert fired: Spending', text });
    expect(toMail(FIRED, 'https://perdura.example').text).toBe(`${text}\n${ADDRESS}\n`);
  });
});

it('an address that is sent back as it is shown is the stored one, also next to e-mail', () => {
  const stored: AlertChannel[] = [
    { type: 'email', to: ['ann@example.com'] },
    { type: 'slack', url: 'https://hooks.example/secret-7' },
  ];
  const shown = maskChannels(stored);
  expect(JSON.stringify(shown)).not.toContain('secret-7');
  expect(unmaskChannels(shown, stored)).toEqual(stored);
  expect(() => unmaskChannels(shown, stored.slice(0, 1))).toThrow(
    expect.objectContaining({ errors: [expect.objectContaining({ path: 'channels.1.url' })] }),
  );
});

it('an e-mail to a recipient that the operator no longer allows is not sent, and tried again', async () => {
  const mailer = createMailer({ url: 'smtp://127.0.0.1:9', from: 'perdura@example.com', recipients: ['ann@example.com'] });
  const mail = { id: '7', to: 'ben@example.com', at: new Date(), subject: 's', text: 't' };
  expect(await mailer.send(mail, new AbortController().signal)).toEqual({
    ...{ delivered: false, response_status: null, retry: true },
    error: 'ben@example.com is not among the recipients that the operator allows (SMTP_RECIPIENTS)',
  });
});
