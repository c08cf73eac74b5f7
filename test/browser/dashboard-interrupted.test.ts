import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here?.stop());

const open = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Sign in again' });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });

/** Lets the service refuse Alice's token from now on, until she signs in again. */
async function endSignIn(page: Page): Promise<() => Promise<void>> {
  const refuse = (route: any) =>
    route.fulfill({
      status: 401,
      json: { type: 'about:blank', title: 'Unauthorized', status: 401, detail: 'Expired', code: 'x' },
    });
  await page.route('**/api/**', refuse);
  return () => page.unroute('**/api/**', refuse);
}

async function signInAgain(page: Page, token = ALICE): Promise<void> {
  await dialog(page).getByLabel('Access token').fill(token);
  await dialog(page).getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).waitFor({ state: 'detached' });
}

describeInBrowser('a sign-in that ends in the middle of work', () => {
  it('is renewed above the screen, and the prompt that was refused is sent', async ({ page, troubles }) => {
    troubles.allow(/401/);
    const id = await here.workflow();
    await open(page, `/workflows/${id}`);
    await field(page, 'Prompt').fill('Refund order 0311.');
    const accept = await endSignIn(page);
    await button(page, 'Send').click();
    await dialog(page).waitFor();
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await page.locator('textarea').first().inputValue()).toBe('Refund order 0311.');
    await accept();
    here.model.script(says('Refunded.'));
    await signInAgain(page);
    await page.getByText('Refunded.').first().waitFor();
    const sent = await here.alice.ok(here.alice.get(`/api/tasks/workflow/${id}`));
    expect(sent).toHaveLength(1);
    await expect.poll(() => field(page, 'Prompt').inputValue()).toBe('');
  });

  it('keeps a half-typed form', async ({ page, troubles }) => {
    troubles.allow(/401/);
    await open(page, '/skills/new');
    await field(page, 'Name').fill('refunds');
    const accept = await endSignIn(page);
    await field(page, 'Instructions').fill('Pay.');
    await button(page, 'Create skill').click();
    await dialog(page).waitFor();
    await accept();
    await signInAgain(page);
    await page.getByText('The skill was created.').waitFor();
    const skills = await here.alice.ok(here.alice.get('/api/skills?q=refunds'));
    expect(skills).toMatchObject([{ name: 'refunds', instructions: 'Pay.' }]);
  });

  it('shows another person who signs in nothing of the first, who finds it later', async ({ page, troubles }) => {
    troubles.allow(/401/);
    const id = await here.workflow();
    await open(page, `/workflows/${id}`);
    await field(page, 'Prompt').fill('For Alice alone.');
    const accept = await endSignIn(page);
    await button(page, 'Send').click();
    await dialog(page).waitFor();
    await accept();
    troubles.allow(/403/);
    await signInAgain(page, BOB);
    await page.getByTitle(/^Signed in as bob /).waitFor();
    await page.getByText('It belongs to someone else.').waitFor();
    expect(await page.content()).not.toContain('For Alice alone.');
    await page.goto(`${here.url}/dashboard/skills/new`);
    await field(page, 'Name').fill('of-bob');
    await page.evaluate('sessionStorage.clear()');
    await open(page, '/skills/new');
    expect(await field(page, 'Name').inputValue()).toBe('');
    await page.goto(`${here.url}/dashboard/workflows/${id}`);
    await expect.poll(() => field(page, 'Prompt').inputValue()).toBe('For Alice alone.');
  });

  it('continues in one tab once the person has signed in in another, with a token that the computer keeps', async ({
    page,
    context,
    troubles,
  }) => {
    troubles.allow(/401/);
    const id = await here.workflow();
    await page.goto(`${here.url}/dashboard/workflows/${id}`);
    await page.getByLabel('Keep on this computer').check();
    await page.getByLabel('Access token').fill(ALICE);
    await button(page, 'Sign in').click();
    const second = await context.newPage();
    await second.goto(`${here.url}/dashboard/skills`);
    await second.getByRole('heading', { name: 'Skills', exact: true }).waitFor();
    await field(page, 'Prompt').fill('Refund order 0317.');
    const accept = await endSignIn(page);
    await button(page, 'Send').click();
    await dialog(page).waitFor();
    await dialog(second).waitFor();
    await accept();
    here.model.script(says('Refunded too.'));
    await dialog(second).getByLabel('Keep on this computer').check();
    await signInAgain(second);
    await dialog(page).waitFor({ state: 'detached' });
    await page.getByText('Refunded too.').first().waitFor();
    expect(await here.alice.ok(here.alice.get(`/api/tasks/workflow/${id}`))).toHaveLength(1);
  });

  it('by signing out ends in every tab of the person', async ({ page, context }) => {
    await open(page, '/skills');
    const second = await context.newPage();
    await signInAsAlice(second, `${here.url}/dashboard/agents`);
    await button(second, 'Sign out').click();
    await page.getByRole('heading', { name: 'Sign in to Perdura' }).waitFor();
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toContain(ALICE);
  });
});

describeInBrowser('a draft', () => {
  it('of a prompt survives a reload and another screen, until it is discarded', async ({ page }) => {
    const id = await here.workflow();
    await open(page, `/workflows/${id}`);
    await field(page, 'Prompt').fill('Half a prom');
    await page.reload();
    await page.getByText('This is your draft from').waitFor();
    expect(await field(page, 'Prompt').inputValue()).toBe('Half a prom');
    expect(await axe(page)).toEqual([]);
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
    await page.goBack();
    expect(await field(page, 'Prompt').inputValue()).toBe('Half a prom');
    await button(page, 'Discard draft').click();
    expect(await field(page, 'Prompt').inputValue()).toBe('');
    await page.reload();
    await field(page, 'Prompt').waitFor();
    expect([await field(page, 'Prompt').inputValue(), await button(page, 'Discard draft').count()]).toEqual(['', 0]);
  });

  it('of a form holds no secret, and is removed once the record is saved', async ({ page }) => {
    await open(page, '/tokens/new');
    await field(page, 'Name').fill('smtp-7');
    await page.locator('input[type=password]').fill('hunter2-secret');
    const stored = await page.evaluate('JSON.stringify({ ...localStorage })');
    expect(stored).toContain('smtp-7');
    expect(stored).not.toContain('hunter2-secret');
    page.once('dialog', (leaving) => void leaving.accept());
    await page.reload();
    await page.getByText('Type again what is never kept: Value.').waitFor();
    expect(await field(page, 'Name').inputValue()).toBe('smtp-7');
    await page.locator('input[type=password]').fill('hunter2-secret');
    await button(page, 'Create stored token').click();
    await page.getByText('The stored token was created.').waitFor();
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain('smtp-7');
  });

  it('of an edit is put over the record as it is now, and names what someone else has changed', async ({ page }) => {
    const { id } = await here.alice.ok(here.alice.post('/api/skills', { name: 'edited', instructions: 'Pay.' }), 201);
    await open(page, `/skills/${id}`);
    await field(page, 'Instructions').fill('Pay 7.');
    await here.alice.ok(here.alice.put(`/api/skills/${id}`, { instructions: 'Pay 11.', description: 'By another.' }));
    await page.reload();
    await page.getByText('Changed by someone else since, and overwritten when you save: Instructions.').waitFor();
    expect([await field(page, 'Instructions').inputValue(), await field(page, 'Description').inputValue()]).toEqual([
      ...['Pay 7.', 'By another.'],
    ]);
    await button(page, 'Save changes').click();
    await page.getByText('The skill was saved.').waitFor();
    const skill = await here.alice.ok(here.alice.get(`/api/skills/${id}`));
    expect(skill).toMatchObject({ instructions: 'Pay 7.', description: 'By another.' });
    await page.reload();
    await field(page, 'Instructions').waitFor();
    expect(await button(page, 'Discard draft').count()).toBe(0);
  });
});
