import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

/** Opens the reference; returns the list of requests that leave this origin, which grows. */
async function open(page: Page): Promise<string[]> {
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(here.url) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  await page.goto(`${here.url}/docs`);
  await page.getByRole('heading', { name: 'Perdura', exact: true, level: 1 }).waitFor();
  return foreign;
}

const tokenField = (page: Page) => page.getByPlaceholder('Token').first();

/** Finds an operation by search; returns its section of the page. */
async function find(page: Page, summary: string): Promise<Locator> {
  await page.getByRole('button', { name: 'Open Search' }).click();
  await page.getByRole('combobox', { name: 'Enter search query' }).fill(summary);
  await page.getByRole('option', { name: `Operation: ${summary}` }).click();
  const operation = page.locator('section', { has: page.getByRole('heading', { name: summary, exact: true }) }).last();
  await operation.waitFor();
  return operation;
}

/** Sends the request that reports whose token it carries, and returns what came back. */
async function askWhose(page: Page): Promise<{ status: number; login: string | undefined }> {
  const operation = await find(page, 'Whose access token this is');
  await operation.getByRole('button', { name: /Test Request/ }).click();
  const answer = page.waitForResponse((response) => response.url().endsWith('/api/me'));
  await page.getByRole('button', { name: /^Send/ }).first().click();
  const response = await answer;
  return { status: response.status(), login: ((await response.json()) as { login?: string }).login };
}

describeInBrowser('the API reference at /docs', () => {
  it('groups its operations, reads well in both themes, and asks nobody else for anything', async ({ page }) => {
    const foreign = await open(page);
    expect(await page.title()).toBe('Perdura API reference');
    const words = await page.getByRole('complementary', { name: 'Sidebar for Perdura' }).innerText();
    const order = ['Runs', 'Workflows', 'Tasks', 'Agents', 'Knowledge', 'Quality', 'Operation', 'Access', 'Other interfaces'];
    const places = order.map((word) => words.search(new RegExp(`^${word}$`, 'm')));
    expect([places.includes(-1), places]).toEqual([false, places.toSorted((one, other) => one - other)]);
    await page.getByText('An agent bound to the settings of its runs.').waitFor();
    const light = await axe(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.reload();
    await page.getByRole('heading', { name: 'Perdura', exact: true, level: 1 }).waitFor();
    await page.locator('body.dark-mode').waitFor();
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    expect([...light, ...(await axe(page))]).toEqual([]);
    await page.emulateMedia({ colorScheme: null });
    expect(foreign).toEqual([]);
  });

  it('finds an operation by search, with samples for curl, TypeScript and Python', async ({ page }) => {
    await open(page);
    const operation = await find(page, 'Create a skill');
    const language = operation.getByRole('button', { name: /Curl|TypeScript|Python/ }).first();
    const readSample = async (name: string) => {
      await language.click();
      await page.getByRole('option', { name, exact: true }).click();
      return operation.innerText();
    };
    expect(await readSample('Curl')).toMatch(/curl .*\/api\/skills[\s\S]*"name": "kind-tone"/);
    expect(await readSample('TypeScript')).toContain("perdura.request('POST /api/skills'");
    expect(await readSample('Python')).toContain('client.request("POST", "/api/skills"');
  });

  it('sends requests as the person whose token was typed, and keeps the token only in this tab', async ({ page, troubles }) => {
    troubles.allow(/401/);
    const foreign = await open(page);
    await tokenField(page).fill(ALICE);
    await tokenField(page).press('Tab');
    await expect.poll(() => page.evaluate('JSON.stringify(sessionStorage)')).toContain(ALICE);
    await page.reload();
    expect(await askWhose(page)).toEqual({ status: 200, login: 'alice' });

    const other = await page.context().newPage();
    await open(other);
    expect(await askWhose(other)).toEqual({ status: 401, login: undefined });
    await other.reload();
    await tokenField(other).fill(BOB);
    await tokenField(other).press('Tab');
    expect(await askWhose(other)).toEqual({ status: 200, login: 'bob' });
    // The computer keeps nothing: a frame of the page has the real storage.
    const kept = `(() => { const frame = document.body.appendChild(document.createElement('iframe'));
      return Object.keys(frame.contentWindow.localStorage); })()`;
    expect([await page.evaluate(kept), await page.evaluate('indexedDB.databases()'), foreign]).toEqual([[], [], []]);
  });
});
