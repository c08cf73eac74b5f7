import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let agent_id: string;
let workflow_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  workflow_id = await here.workflow({ agent: { name: 'Clerk' }, workflow: { title: 'Office', remember: 'thread' } } as never);
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id;
});
afterAll(() => here?.stop());

const open = async (page: Page, path: string) => {
  await page.route(/\/api\/threads\/[^/]+\/messages/, async (route) => {
    const [, id] = /threads\/([^/]+)/.exec(route.request().url())!;
    if (route.request().method() === 'GET') return route.fulfill({ json: [], headers: { 'x-total-count': '0' } });
    const { message, attachments, when_busy } = route.request().postDataJSON();
    const thread = await here.alice.ok(here.alice.get(`/api/threads/${id}`));
    const done = await here.alice.ok(
      here.alice.post(`/api/workflows/${thread.workflow_id}/prompt`, { prompt: message, attachments, thread_id: id, on_busy: when_busy === 'interrupt' ? 'interrupt' : 'enqueue' }),
    );
    return route.fulfill({ status: 202, json: { id: done.task_id, state: 'started', message } });
  });
  await signInAsAlice(page, `${here.url}/dashboard${path}`);
};
const message = (page: Page) => page.getByLabel('Message', { exact: true });
const said = (page: Page, text: string) => page.getByRole('log', { name: 'Messages' }).getByText(text, { exact: true }).first().waitFor();

async function say(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await message(page).press('Enter');
}

describeInBrowser('the chat', () => {
  it('begins a thread with its first message and continues it', async ({ page }) => {
    await open(page, '/chat');
    await page.getByRole('combobox', { name: 'Agent' }).click();
    await page.getByRole('option', { name: 'Clerk' }).click();
    here.model.script(says('One.'), says('Two.'));
    await say(page, 'First.');
    await said(page, 'One.');
    await page.waitForURL(/\/chat\/[\w-]{36}$/);
    await page.screenshot({ path: '/tmp/s44-1.png' });
    const address = page.url();
    await say(page, 'Second.');
    await said(page, 'Two.');
    expect(page.url()).toBe(address);
    await page.screenshot({ path: '/tmp/s44-2.png' });
    await page.getByRole('button', { name: 'Regenerate' }).last().waitFor();
    here.model.script(says('Another two.'));
    await page.getByRole('button', { name: 'Regenerate' }).last().click();
    await said(page, 'Another two.');
    await page.screenshot({ path: '/tmp/s44-3.png' });
    here.model.script(hangs('A beginning'));
    await say(page, 'Third.');
    await said(page, 'A beginning');
    await page.screenshot({ path: '/tmp/s44-4.png' });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('halted').first().waitFor();
    await page.screenshot({ path: '/tmp/s44-5.png' });
    void agent_id;
  });
});
