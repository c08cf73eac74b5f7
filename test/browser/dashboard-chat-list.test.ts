import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { messageBox } from '../support/browser/chat.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

/** One more than are read at once. */
const MANY = 31;

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`))).agent_id;
  for (let number = 1; number <= MANY; number += 1) await begin(`Question ${number}`);
});
afterAll(() => here?.stop());

const begin = async (title: string) => (await here.alice.ok(here.alice.post('/api/threads', { agent_id, title }))).id as string;
const open = (page: Page, path = '/chat') => signInAsAlice(page, `${here.url}/dashboard${path}`);
const list = (page: Page) => page.getByRole('navigation', { name: 'Conversations' });
const titles = async (page: Page) =>
  (await list(page).locator('.chat-entry-title').allTextContents()).map((title) => title.trim());
const choose = async (page: Page, title: string, action: string) => {
  await list(page)
    .getByRole('button', { name: `Actions of ${title}` })
    .click();
  await page.getByRole('menuitem', { name: action }).click();
};

describeInBrowser('the list of conversations', () => {
  it('has the newest first, and reads more as one scrolls', async ({ page }) => {
    await open(page);
    await list(page).getByText(`Question ${MANY}`, { exact: true }).waitFor();
    expect((await titles(page)).slice(0, 2)).toEqual([`Question ${MANY}`, `Question ${MANY - 1}`]);
    await list(page).getByText('Question 2', { exact: true }).scrollIntoViewIfNeeded();
    await list(page).getByText('Question 1', { exact: true }).waitFor();
    expect(await titles(page)).toHaveLength(MANY);
  });

  it('finds titles', async ({ page }) => {
    await open(page);
    await list(page).getByRole('searchbox', { name: 'Search' }).fill('ion 17');
    await expect.poll(() => titles(page)).toEqual(['Question 17']);
    await list(page).getByRole('searchbox', { name: 'Search' }).fill('ion 71');
    await page.getByText('No title has these words.').waitFor();
  });

  it('pins, renames and deletes one, and asks before it deletes', async ({ page, troubles }) => {
    // The screen may read the deleted thread once more before it is left.
    troubles.allow(/404/);
    const id = await begin('Question of the day');
    const other = await begin('Question of the night');
    await open(page, `/chat/${id}`);
    await choose(page, 'Question of the day', 'Pin');
    await expect.poll(async () => (await titles(page))[0]).toBe('Question of the day');
    await choose(page, 'Question of the day', 'Rename …');
    await page.getByRole('textbox', { name: 'Title' }).fill('Answer of the day');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Answer of the day' }).waitFor();
    expect(await here.alice.ok(here.alice.get(`/api/threads/${id}`))).toMatchObject({ title: 'Answer of the day', pinned: true });
    await choose(page, 'Answer of the day', 'Delete …');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await choose(page, 'Answer of the day', 'Delete …');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForURL('**/chat');
    await expect.poll(async () => (await titles(page))[0]).toBe('Question of the night');
    expect((await here.alice.get(`/api/threads/${id}`)).status).toBe(404);
    expect((await here.alice.get(`/api/threads/${other}`)).status).toBe(200);
  });

  it('is a drawer on a narrow screen, which closes when one is chosen', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await open(page);
    await page.getByRole('button', { name: 'Conversations' }).click();
    const drawer = page.getByRole('dialog', { name: 'Conversations' });
    await drawer.getByText('Question 31', { exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Question 31' }).waitFor();
    await drawer.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Conversations' }).click();
    await drawer.waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    expect(await messageBox(page).isVisible()).toBe(true);
    expect(await faultsOf(page)).toEqual([]);
  }, 60_000);
});
