import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { messages, said, say, settled, turn } from '../support/browser/chat.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
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

describeInBrowser('a conversation that continues', () => {
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

describeInBrowser('a place in a conversation', () => {
  it('stays when another version of an early turn is chosen', async ({ page }) => {
    await twoTurns(page);
    await turn(page, 1).getByRole('button', { name: 'Edit your message' }).click();
    here.model.script(says('Done.'), says('All of it.'));
    await page.getByRole('textbox', { name: 'Edit your message' }).fill('Count again.');
    await page.keyboard.press('Enter');
    await said(page, 'Done.');
    await settled(page);
    await say(page, 'All?');
    await said(page, 'All of it.');
    await settled(page);
    const before = (await turn(page, 1).boundingBox())!.y;
    await turn(page, 1).getByRole('button', { name: 'Previous version' }).click();
    await turn(page, 2).getByText('line').nth(59).waitFor();
    expect((await turn(page, 1).boundingBox())!.y).toBeCloseTo(before, 0);
  });

  it('has the form of an edit below the bar, with the picture of the message', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/chat?agent_id=${agent_id}`);
    const buffer = Buffer.from(PIXEL, 'base64');
    await page.getByLabel('Files to attach').setInputFiles([{ name: 'seven.png', mimeType: 'image/png', buffer }]);
    await page.getByRole('img', { name: 'seven.png' }).waitFor();
    here.model.script(says(LONG));
    await say(page, 'What is this?');
    await messages(page).getByText('line').nth(59).waitFor();
    await settled(page);
    await turn(page, 1).getByRole('button', { name: 'Edit your message' }).click();
    const edited = page.getByRole('textbox', { name: 'Edit your message' });
    const bar = (await page.getByRole('banner').boundingBox())!;
    await expect.poll(async () => (await edited.boundingBox())!.y).toBeGreaterThan(bar.y + bar.height);
    await turn(page, 1).getByRole('img', { name: 'seven.png' }).waitFor();
  });

  it('has no more height than the window under a long title', async ({ page }) => {
    const title = 'A title that is much too long for a single line of this screen '.repeat(5).trim();
    const { id } = await here.alice.ok(here.alice.post('/api/threads', { agent_id, title }));
    await signInAsAlice(page, `${here.url}/dashboard/chat/${id}`);
    await page.getByText('No messages yet. Type one below.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollHeight - innerHeight')).toBe(0);
  });

  it('is next to the way to the other conversations on a phone', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await twoTurns(page);
    expect(await page.evaluate('scrollY')).toBeGreaterThan(800);
    await expect.poll(() => isInWindow(page, 'Conversations')).toBe(true);
    expect(await axe(page)).toEqual([]);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('dialog', { name: 'Conversations' }).waitFor();
  });
});

describeInBrowser('the menu of a conversation in the list', () => {
  it('opens dialogs that name it, and that can be left', async ({ page }) => {
    await here.alice.ok(here.alice.post('/api/threads', { agent_id, title: 'Question 17' }));
    await signInAsAlice(page, `${here.url}/dashboard/chat`);
    const menu = page.getByRole('button', { name: 'Actions of Question 17' });
    await menu.click();
    await page.getByRole('menuitem', { name: 'Delete …' }).click();
    await page.getByRole('dialog', { name: 'Delete “Question 17”' }).getByRole('button', { name: 'Cancel' }).click();
    await menu.click();
    await page.getByRole('menuitem', { name: 'Rename …' }).click();
    const rename = page.getByRole('dialog', { name: 'Rename “Question 17”' });
    await rename.getByRole('button', { name: 'Cancel' }).click();
    await rename.waitFor({ state: 'detached' });
  });
});

async function isInWindow(page: Page, name: string): Promise<boolean> {
  const box = (await page.getByRole('button', { name }).boundingBox())!;
  return box.y >= 0 && box.y + box.height <= 800;
}
