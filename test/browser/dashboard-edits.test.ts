import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { darken, signInAsAlice, unfold } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let made = 0;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const read = (path: string) => here.alice.ok(here.alice.get(`/api/${path}`));
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const conflict = (page: Page) => page.getByRole('alert').filter({ hasText: 'Not saved: someone else changed the same fields' });
const saved = (page: Page) => page.getByText('was saved.').first().waitFor();

async function newAgent(): Promise<string> {
  const values = { name: `shared ${++made}`, description: 'as it was', system_prompt: 'Be as you were.' };
  return (await here.alice.ok(here.alice.post('/api/agents', values))).id;
}

/** Two pages that show the same agent, each with its own form. */
async function twoPages(page: Page): Promise<{ id: string; mine: Page; theirs: Page }> {
  const id = await newAgent();
  const theirs = await page.context().newPage();
  for (const each of [page, theirs]) {
    await signInAsAlice(each, `${here.url}/dashboard/agents/${id}`);
    await field(each, 'Description').waitFor();
  }
  return { id, mine: page, theirs };
}

async function type(page: Page, changes: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(changes)) await field(page, name).fill(value);
}

const save = (page: Page) => button(page, 'Save changes').click();

describeInBrowser('two who edit the same agent', () => {
  it('get a warning if they changed the same field, and the second can load the newer state', async ({ page }) => {
    const { id, mine, theirs } = await twoPages(page);
    await type(mine, { Description: 'mine', 'System prompt': 'Be mine.' });
    await type(theirs, { Description: 'theirs' });
    await save(theirs);
    await saved(theirs);
    await save(mine);
    await conflict(mine).getByRole('group', { name: 'Description as stored' }).getByText('theirs').waitFor();
    expect(await axe(mine)).toEqual([]);
    await darken(mine);
    expect(await axe(mine)).toEqual([]);
    expect(await field(mine, 'Description').inputValue()).toBe('mine');
    expect(await read(`agents/${id}`)).toMatchObject({ description: 'theirs', system_prompt: 'Be as you were.' });

    await button(mine, 'Load the newer state').click();
    await conflict(mine).waitFor({ state: 'detached' });
    expect(await field(mine, 'Description').inputValue()).toBe('theirs');
    expect(await field(mine, 'System prompt').inputValue()).toBe('Be as you were.');
    await type(mine, { Description: 'theirs, and then mine' });
    await save(mine);
    await saved(mine);
    expect(await read(`agents/${id}`)).toMatchObject({ description: 'theirs, and then mine' });
  }, 120_000);

  long(
    'can keep what they typed and overwrite the newer state',
    async ({ page }) => {
      const { id, mine, theirs } = await twoPages(page);
      await type(mine, { Description: 'mine' });
      await type(theirs, { Description: 'theirs', 'System prompt': 'Be theirs.' });
      await save(theirs);
      await saved(theirs);
      await field(mine, 'Description').press('Enter');
      await expect
        .poll(() => mine.evaluate('document.activeElement.innerText'))
        .toMatch(/^Not saved: someone else changed the same fields/);
      await button(mine, 'Keep what I typed').click();
      expect(await field(mine, 'Description').inputValue()).toBe('mine');
      expect(await field(mine, 'System prompt').inputValue()).toBe('Be theirs.');
      expect(await read(`agents/${id}`)).toMatchObject({ description: 'theirs' });
      await expect.poll(() => mine.evaluate('document.activeElement.textContent')).toBe('Save changes');
      await mine.keyboard.press('Enter');
      await saved(mine);
      expect(await read(`agents/${id}`)).toMatchObject({ description: 'mine', system_prompt: 'Be theirs.' });
    },
    120_000,
  );

  long(
    'do not disturb each other in different fields',
    async ({ page }) => {
      const { id, mine, theirs } = await twoPages(page);
      await type(mine, { 'System prompt': 'Be mine.' });
      await type(theirs, { Description: 'theirs' });
      await save(theirs);
      await saved(theirs);
      await save(mine);
      await mine.getByText('The agent was saved. Changes by others were kept: Description.').waitFor();
      expect(await field(mine, 'Description').inputValue()).toBe('theirs');
      expect(await read(`agents/${id}`)).toMatchObject({ description: 'theirs', system_prompt: 'Be mine.' });
    },
    120_000,
  );
});

describeInBrowser('the settings of a workflow', () => {
  it('are saved even if the workflow has run since they were opened', async ({ page }) => {
    const id = await here.workflow({ workflow: { title: 'before' } });
    await signInAsAlice(page, `${here.url}/dashboard/workflows/${id}?tab=settings`);
    await field(page, 'Title').fill('after');
    const budget = page.getByLabel('Set a budget');
    await budget.check();
    await field(page, 'Max tokens').fill('7');
    await budget.uncheck();
    await budget.check();
    await field(page, 'Max tokens').fill('70001');
    here.model.script(says('Done.'));
    await here.ended(await here.prompt(id));
    await button(page, 'Save changes').click();
    await saved(page);
    expect(await axe(page)).toEqual([]);
    expect(await read(`workflows/${id}`)).toMatchObject({ title: 'after', task_count: 1, budget: { max_tokens: 70_001 } });
  });
});

describeInBrowser('invalid JSON', () => {
  const wrong = (page: Page) => page.getByText(/^Not valid JSON: /).waitFor();

  it('is reported in every field that takes JSON', async ({ page }) => {
    const source_code = 'def double(n: int) -> int:\n    return 2 * n\n';
    const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'double', source_code }));
    await signInAsAlice(page, `${here.url}/dashboard/custom-tools/${id}`);
    await page.getByLabel('Arguments (JSON)').fill('{n: 1}');
    await button(page, 'Run the tool').click();
    await wrong(page);

    await page.reload();
    await unfold(page, 'Settings');
    await page.getByLabel('Parameters (JSON Schema)').fill('{');
    await unfold(page, 'Settings');
    await page.getByText('Parameters (JSON Schema): {').waitFor();
    // A section with an error opens by itself.
    await button(page, 'Save changes').click();
    await wrong(page);

    await page.goto(`${here.url}/dashboard/mcps`);
    await button(page, 'Import …').click();
    await page.getByLabel('mcpServers JSON').fill('servers');
    await button(page, 'Import').click();
    await wrong(page);
    const servers = { mcpServers: { far: { type: 'http', url: 'https://far.example/mcp' } } };
    await page.getByLabel('mcpServers JSON').fill(JSON.stringify(servers));
    await button(page, 'Import').click();
    await page.getByText('Servers: 1 created').waitFor();

    await page.goto(`${here.url}/dashboard/transfer`);
    const chosen = page.waitForEvent('filechooser');
    await button(page, 'Bundle').click();
    await (await chosen).setFiles({ name: 'bundle.json', mimeType: 'application/json', buffer: Buffer.from('version: 1.0') });
    await button(page, 'Preview').click();
    await wrong(page);
  });
});
