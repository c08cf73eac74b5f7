import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startReceiver } from '../support/peers/receiver.ts';

let here: TestInstallation;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  receiver = await startReceiver();
  const alert = { name: 'Long queue', measure: 'backlog', threshold: 1_009 };
  ({ id } = await here.alice.ok(here.alice.post('/api/alerts', alert), 201));
});
afterAll(async () => {
  await here.stop();
  await receiver.stop();
});

describeInBrowser('the channels of an alert', () => {
  it('are added in its form, keep their address unseen, and can be tried and removed', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/alerts/${id}`);
    const channels = page.getByRole('group', { name: 'Also send to' });
    const save = async () => {
      await page.getByRole('button', { name: 'Save changes' }).click();
      await page.getByText('The alert was saved.').last().waitFor();
    };
    await channels.getByRole('button', { name: 'Add one' }).click();
    await channels.getByLabel('Type').selectOption('slack');
    await channels.getByLabel('URL').fill(receiver.url.replace('/hook', '/services/T024X7/9xKq2LmN8vRt5Yw'));
    await save();
    await page.reload();
    const shown = channels.getByLabel('URL');
    await shown.waitFor();
    expect(await shown.inputValue()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\*{8}#[0-9a-f]{8}$/);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(`slack ${new URL(receiver.url).host}`).waitFor();
    expect(receiver.received.map(({ body }) => JSON.parse(body).text)).toContain('Test of an alert: Long queue');
    expect(await faultsOf(page)).toEqual([]);
    await channels.getByRole('button', { name: 'Remove 1' }).click();
    await save();
    expect((await here.alice.ok(here.alice.get(`/api/alerts/${id}`))).channels).toEqual([]);
  });
});
