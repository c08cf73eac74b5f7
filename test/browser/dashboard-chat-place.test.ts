import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { messages, said, say, settled, turn } from '../support/browser/chat.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

/** More than fits on the screen. */
const LONG = Array.from({ length: 60 }, (_, index) => `${index + 1}. line`).join('\n');

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`))).agent_id;
});
afterAll(() => here?.stop());

const threadOf = (page: Page) => page.url().split('/').at(-1)!;
const sendFromElsewhere = (page: Page, message: string) =>
  here.alice.ok(here.alice.post(`/api/threads/${threadOf(page)}/messages`, { message }));

/** Has a conversation of two long turns. */
async function twoTurns(page: Page): Promise<void> {
  here.model.script(says(LONG), says(LONG));
  await signInAsAlice(page, `${here.url}/dashboard/chat?agent_id=${agent_id}`);
  await say(page, 'Count.');
  await messages(page).getByText('line').nth(59).waitFor();
  await settled(page);
  await say(page, 'Again.');
  await turn(page, 2).getByText('line').nth(59).waitFor();
  await settled(page);
}

/** Has the list of turns read later than everything else, until the returned function is called. */
async function holdTurns(page: Page): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route(/\/api\/tasks\?/, async (route) => {
    await held.promise;
    await route.continue();
  });
  return held.resolve;
}

describeInBrowser('a conversation that goes on', () => {
  it('stays on the screen while its new turn is read, and shows the message once', async ({ page }) => {
    await twoTurns(page);
    const release = await holdTurns(page);
    const read = page.waitForResponse(/\/api\/threads\/[\w-]{36}$/);
    here.model.script(says('Seven.'));
    await say(page, 'How many?');
    await read;
    await messages(page).getByText('Sending …').waitFor();
    expect(await messages(page).getByRole('region').count()).toBe(2);
    expect(await messages(page).getByText('How many?', { exact: true }).count()).toBe(1);
    release();
    await said(page, 'Seven.');
    expect(await messages(page).getByText('How many?', { exact: true }).count()).toBe(1);
    expect(await messages(page).getByText('Sending …').count()).toBe(0);
  });

  it('keeps an edit that is being written when a message comes from elsewhere', async ({ page }) => {
    await twoTurns(page);
    await turn(page, 2).getByRole('button', { name: 'Edit your message' }).click();
    const edited = page.getByRole('textbox', { name: 'Edit your message' });
    await edited.fill('Again, but in words.');
    here.model.script(says('Eleven.'));
    await sendFromElsewhere(page, 'From elsewhere.');
    await said(page, 'Eleven.');
    expect(await edited.inputValue()).toBe('Again, but in words.');
  });

  it('leaves a reader in the middle where they are when a message comes from elsewhere', async ({ page }) => {
    await twoTurns(page);
    await page.mouse.move(640, 300);
    await page.mouse.wheel(0, -700);
    await page.getByRole('button', { name: 'To the newest' }).waitFor();
    const before = await page.evaluate('scrollY');
    here.model.script(says('Thirteen.'));
    await sendFromElsewhere(page, 'From elsewhere.');
    await said(page, 'Thirteen.');
    await settled(page);
    expect(await page.evaluate('scrollY')).toBe(before);
  });
});
