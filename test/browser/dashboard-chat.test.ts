import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  const workflow_id = await here.workflow({ agent: { name: 'Clerk' } });
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id;
});
afterAll(() => here?.stop());

const open = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const message = (page: Page) => page.getByLabel('Message', { exact: true });
const said = (page: Page, text: string) => page.getByRole('log', { name: 'Messages' }).getByText(text, { exact: true }).waitFor();

async function say(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await message(page).press('Enter');
}

describeInBrowser('the chat', () => {
  it('continues in the session that its first message began, and later in one that is chosen', async ({ page }) => {
    await open(page, '/chat');
    await page.getByRole('combobox', { name: 'Agent' }).click();
    await page.getByRole('option', { name: 'Clerk' }).click();
    await page.getByRole('heading', { name: 'Chat with Clerk' }).waitFor();
    await message(page).press('Enter');
    await message(page).fill('First');
    await message(page).press('Shift+Enter');
    expect(await message(page).inputValue()).toBe('First\n');
    here.model.script(says('One.'), says('Two.'));
    await say(page, 'First.');
    await said(page, 'One.');
    await page.waitForURL(/\/chat\/[\w-]{36}\/[\w-]{36}$/);
    const session = page.url();
    await expect.poll(() => page.title()).toBe(`Chat with Clerk · #${session.slice(-4)} · Perdura`);
    await say(page, 'Second.');
    await said(page, 'Two.');
    expect(page.url()).toBe(session);
    const sessions = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}/chat/sessions`));
    expect(sessions).toHaveLength(1);
    await page.getByRole('link', { name: 'New session' }).click();
    await page.getByText('No messages yet. Type one below.').waitFor();
    await page.getByRole('combobox', { name: 'Earlier sessions' }).click();
    await page.getByRole('listbox').getByRole('option').first().click();
    await said(page, 'One.');
    expect(page.url()).toBe(session);
  });

  it('puts back a message that was not accepted, unless another one was begun', async ({ page, troubles }) => {
    troubles.allow(/ERR_FAILED/);
    const held = Promise.withResolvers<void>();
    let requests = 0;
    await page.route(/\/chat$/, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      requests += 1;
      if (requests === 2) await held.promise;
      await route.abort('failed');
    });
    await open(page, `/chat/${agent_id}`);
    await say(page, 'Lost.');
    await expect.poll(() => message(page).inputValue()).toBe('Lost.');
    await message(page).press('Enter');
    await message(page).fill('Another.');
    held.resolve();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(await message(page).inputValue()).toBe('Another.');
  });

  it('keeps the next message, which is typed while one is sent', async ({ page }) => {
    const held = Promise.withResolvers<void>();
    await page.route(/\/chat$/, async (route) => {
      await held.promise;
      return route.continue();
    });
    here.model.script(says('Five.'));
    await open(page, `/chat/${agent_id}`);
    await say(page, 'Sent.');
    await message(page).fill('The next.');
    held.resolve();
    await said(page, 'Five.');
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await page.reload();
    await said(page, 'Five.');
    expect(await message(page).inputValue()).toBe('The next.');
  });

  it('can be left while a reply is written', async ({ page }) => {
    here.model.script(hangs('A beginning'));
    await open(page, `/chat/${agent_id}`);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    await page.getByRole('link', { name: 'Skills', exact: true }).click();
    await page.getByText('No skill yet.').waitFor();
  });

  it('is followed after a reload and in a second tab, which stops it', async ({ page, context }) => {
    here.model.script(hangs('A beginning'));
    await open(page, `/chat/${agent_id}`);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    await page.waitForURL(/\/chat\/[\w-]{36}\/[\w-]{36}$/);
    await page.reload();
    await said(page, 'Talk.');
    await said(page, 'A beginning');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    const second = await context.newPage();
    await signInAsAlice(second, page.url());
    await said(second, 'A beginning');
    await second.getByRole('button', { name: 'Stop' }).click();
    await second.getByRole('button', { name: 'Send' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await said(page, 'A beginning');
    const { messages, reply } = await here.alice.ok(
      here.alice.get(`/api/agents/${agent_id}/chat/sessions/${page.url().split('/').at(-1)}`),
    );
    expect([messages.map(({ content }: { content: string }) => content), reply]).toEqual([['Talk.', 'A beginning'], null]);
  });

  it('shows after a reload why a reply failed, and the message that was being typed', async ({ page }) => {
    here.model.script(fails(401));
    await open(page, `/chat/${agent_id}`);
    await say(page, 'Fail.');
    await page.getByRole('alert').waitFor();
    await message(page).fill('Half a mess');
    await page.reload();
    await said(page, 'Fail.');
    await page.getByRole('alert').waitFor();
    expect(await message(page).inputValue()).toBe('Half a mess');
  });
});
