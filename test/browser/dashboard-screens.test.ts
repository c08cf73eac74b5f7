import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { NAVIGATION } from '../../src/dashboard/shell/navigation.ts';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { makeOneOfEach } from '../support/browser/screens.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { everyCase, someOf } from '../support/some-of.ts';

let here: TestInstallation;
const screens = [
  '/',
  '/inbox',
  '/tasks',
  '/tasks?group=error',
  '/chat',
  '/usage',
  '/help',
  '/help/scheduling',
  '/shortcuts',
  '/mcps/sign-in',
  '/transfer',
  '/audit',
  '/system',
  '/make',
  '/no/such/page',
];
const forms: string[] = ['/make'];
const parametersOf = (route: string) => (route === '*' ? Number.POSITIVE_INFINITY : route.split(':').length);
/** Those with the fewest parameters first: of several that match, the first one is shown. */
const ROUTES = [...readFileSync('src/dashboard/app.tsx', 'utf8').matchAll(/<Route path="([^"]+)"/g)]
  .map(([, path = '']) => path)
  .sort((one, other) => parametersOf(one) - parametersOf(other));
const patternOf = (route: string) => new RegExp(`^${route.replace('*', '.*').replaceAll(/:\w+/g, '[^/]+')}(\\?.*)?$`);
const routeOf = (screen: string) => ROUTES.find((route) => patternOf(route).test(screen));

/** A screen of each route: several have views of the same parts. */
const oneOfEach = () => [...new Map(screens.map((screen) => [routeOf(screen), screen])).values()];

beforeAll(async () => {
  here = await startTestInstallation();
  const made = await makeOneOfEach(here);
  screens.push(...made.screens);
  forms.push(...made.forms);
});
afterAll(() => here.stop());

const signIn = (page: Page, path = '/', url = here.url) => signInAsAlice(page, `${url}/dashboard${path}`);

async function visit(page: Page, path: string): Promise<void> {
  await page.goto(`${new URL(page.url()).origin}/dashboard${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.locator('[role=status][aria-label^=Loading]').count()).toBe(0);
}

async function faults(page: Page, paths: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    await visit(page, path);
    found.push(...(await axe(page)).map((fault) => `${path} ${fault}`));
    const beyond = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    if (beyond > 0) found.push(`${path} is ${beyond} px wider than the window`);
  }
  return found;
}

describeInBrowser('the screens of the dashboard', () => {
  it('are all visited here: each route and each link of the navigation', () => {
    expect(ROUTES.length).toBeGreaterThan(15);
    const visited = new Set([...screens, ...forms].map(routeOf));
    expect([...visited].sort()).toEqual([...ROUTES].sort());
    const linked = NAVIGATION.flatMap(({ links }) => links.map(([to]) => to));
    expect(linked.filter((to) => !screens.includes(to))).toEqual([]);
  });

  it('of the docs begin at the section that the address names', async ({ page }) => {
    await signIn(page, '/help/scheduling#back-fill');
    const top = async () => (await page.getByRole('heading', { name: 'Back-fill', exact: true }).boundingBox())?.y;
    await expect.poll(top).toBeLessThan(400);
  });

  it('have no axe violations in the light theme', async ({ page }) => {
    await page.goto(`${here.url}/dashboard/`);
    await page.getByLabel('Access token').waitFor();
    expect(await axe(page)).toEqual([]);
    await signIn(page);
    expect(await faults(page, everyCase() ? screens : oneOfEach())).toEqual([]);
  }, 120_000);

  it('have no axe violations in the dark theme on a narrow window', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await signIn(page);
    expect(await faults(page, someOf([...forms, ...oneOfEach()], 3))).toEqual([]);
  }, 120_000);

  it('show an error of the service at its field and focus it', async ({ page, troubles }) => {
    troubles.allow(/422/);
    await signIn(page, '/custom-tools/new');
    await page.getByRole('textbox', { name: 'Name' }).fill('add_up');
    await page.getByRole('textbox', { name: 'Source' }).fill('def other(a: int) -> int:\n    return a\n');
    await page.getByRole('button', { name: 'Create tool' }).click();
    const source = page.locator('[aria-invalid="true"]');
    await source.waitFor();
    expect(await source.getAttribute('name')).toBe('source_code');
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('source_code');
  });

  it('run a tool and show its result', async ({ page }) => {
    const { body } = await here.alice.post('/api/custom-tools', {
      name: 'double',
      source_code: 'def double(n: int) -> int:\n    return 2 * n\n',
    });
    await signIn(page, `/custom-tools/${body.id}`);
    await page.getByLabel('Arguments (JSON)').fill('{"n": 21}');
    await page.getByRole('button', { name: 'Run the tool' }).click();
    await page.getByText(/^Completed \(/).waitFor();
    await page.getByRole('group', { name: 'Result' }).getByText('42').waitFor();
  });

  it("fill a tool's variable from a stored token and validate its source", async ({ page }) => {
    await signIn(page, '/custom-tools?q=add');
    await page.getByRole('link', { name: 'add', exact: true }).click();
    await page.getByRole('combobox', { name: 'KEY' }).click();
    await page.getByRole('option', { name: 'key' }).click();
    await expect
      .poll(async () => {
        const { body } = await here.alice.get('/api/custom-tools?q=add');
        return (body as unknown as Record<string, any>[]).find(({ name }) => name === 'add')?.env_config.KEY.token_name;
      })
      .toBe('key');
    await page.getByRole('button', { name: 'Validate the source' }).click();
    await page.getByText('Valid', { exact: true }).waitFor();
    await page.getByRole('group', { name: 'Inferred schema' }).getByText('integer').first().waitFor();
  });

  it('upload a document', async ({ page }) => {
    await signIn(page, '/knowledge-items');
    await page.getByRole('button', { name: 'Upload …' }).click();
    const dialog = page.getByRole('dialog');
    const chosen = page.waitForEvent('filechooser');
    await dialog.getByRole('button', { name: 'File' }).click();
    await (await chosen).setFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes\n\nBe kind.') });
    await dialog.getByRole('combobox', { name: 'Source' }).click();
    await page.getByRole('listbox').getByRole('option', { name: 'handbook' }).click();
    await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByRole('textbox', { name: 'Content', exact: true }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Content', exact: true }).inputValue()).toContain('Be kind.');
  });

  it('save only the changed fields, and ask before deleting', async ({ page, troubles }) => {
    // The page may learn that the skill is gone, and read it again, before its own deletion is answered.
    troubles.allow(/404/);
    const { body } = await here.alice.post('/api/skills', {
      name: 'brevity',
      description: 'old',
      instructions: 'Be brief.',
      tags: ['a'],
    });
    await signIn(page, `/skills/${body.id}`);
    await page.getByRole('textbox', { name: 'Description' }).fill('');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('The skill was saved.').waitFor();
    expect((await here.alice.get(`/api/skills/${body.id}`)).body).toMatchObject({
      description: '',
      instructions: 'Be brief.',
      tags: ['a'],
    });
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Delete …');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { name: 'Skills' }).waitFor();
    expect((await here.alice.get(`/api/skills/${body.id}`)).status).toBe(404);
  });

  it('preview an import and do it', async ({ page }) => {
    await signIn(page, '/transfer');
    const items = [
      { name: 'imported', instructions: 'Do.' },
      { name: 'politeness', instructions: 'Again.' },
    ];
    const buffer = Buffer.from(JSON.stringify({ version: '1.0', resource_type: 'skill', items }));
    const chosen = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Bundle' }).click();
    await (await chosen).setFiles({ name: 'skills.json', mimeType: 'application/json', buffer });
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText(/would be created/).waitFor();
    await page.getByLabel('Dry run').uncheck();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText(/^Items: \d created/).waitFor();
    expect((await here.alice.get('/api/skills?q=imported')).body).toMatchObject([{ name: 'imported' }]);
  });
});

describeInBrowser('the banner of tool isolation', () => {
  const BANNER = 'Tools run without isolation.';

  it('is on every screen if tools are not isolated', async ({ page }) => {
    const open = await startTestInstallation({ env: { TOOL_ISOLATION: 'none' } });
    try {
      await signIn(page, '/', open.url);
      await page.getByText(BANNER).waitFor();
      await visit(page, '/skills');
      await page.getByText(BANNER).waitFor();
      expect(await axe(page)).toEqual([]);
    } finally {
      // Requests of the page to a stopped service would count as troubles.
      await page.goto('about:blank');
      await open.stop();
    }
  });

  it('is absent if they are', async ({ page }) => {
    await signIn(page);
    await page.getByText('Database', { exact: true }).waitFor();
    expect(await page.getByText(BANNER).count()).toBe(0);
  });
});
