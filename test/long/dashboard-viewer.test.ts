import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { makeOneOfEach } from '../support/browser/screens.ts';
import { BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
const screens = ['/', '/tasks', '/chat', '/usage', '/transfer', '/make', '/audit'];

/** Everything that Alice has made belongs to Bob, who is a viewer. */
beforeAll(async () => {
  here = await startTestInstallation({ env: { VIEWER_SUBJECTS: 'local:bob' } });
  const made = await makeOneOfEach(here);
  screens.push(...made.screens, ...made.forms);
  const { pool } = here.core.database;
  const { rows } = await pool.query(
    `SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND column_name IN ('owner', 'created_by') AND table_name !~ '^audit'`,
  );
  for (const { table_name, column_name } of rows)
    await pool.query(`UPDATE ${table_name} SET ${column_name} = 'local:bob' WHERE ${column_name} = 'local:alice'`);
}, 60_000);
afterAll(() => here.stop());

async function signInAsBob(page: Page): Promise<void> {
  await page.goto(`${here.url}/dashboard/`);
  await page.getByLabel('Access token').fill(BOB);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

async function visit(page: Page, path: string): Promise<void> {
  await page.goto(`${here.url}/dashboard${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.locator('[role=status][aria-label^=Loading]').count()).toBe(0);
}

const CONTROLS = 'main button:not(:disabled), main input:is([type=checkbox], [role=switch]):not(:disabled)';
const IN_DIALOG = '[role=dialog] button:not(:disabled):not([aria-label=Close])';
const CLICK_MS = 1_000;

/** Clicks on each enabled control of a screen, and on those of the dialogs that open. Returns their names. */
async function clickAll(page: Page, path: string): Promise<string[]> {
  await visit(page, path);
  const clicked: string[] = [];
  const count = await page.locator(CONTROLS).count();
  for (let n = 0; n < count; n += 1) {
    const control = page.locator(CONTROLS).nth(n);
    if ((await control.count()) === 0) continue;
    const name = (await control.getAttribute('aria-label')) ?? (await control.textContent()) ?? '';
    if (clicked.includes(name)) continue;
    clicked.push(name);
    const before = page.url();
    await control.click({ timeout: CLICK_MS }).catch(() => {});
    const inner = page.locator(IN_DIALOG);
    const opened = await inner.count();
    for (let m = 0; m < opened; m += 1)
      await inner
        .nth(m)
        .click({ timeout: CLICK_MS })
        .catch(() => {});
    if (opened > 0 || page.url() !== before) await visit(page, path);
  }
  return clicked;
}

describeInBrowser('a viewer', () => {
  it('finds no enabled control that leads to a refusal, and why the others are disabled', async ({ page, troubles }) => {
    troubles.allow(/40[0-9]|422/);
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 403)
        refused.push(`${new URL(page.url()).pathname} ${response.request().method()} ${response.url()}`);
    });
    await signInAsBob(page);
    const clicked = new Map<string, string[]>();
    for (const path of screens) clicked.set(path, await clickAll(page, path));
    expect(refused).toEqual([]);
    expect([...clicked.values()].flat().length).toBeGreaterThan(50);
    const sent = [...clicked.values()]
      .flat()
      .filter((name) => /^(Save|Create|Delete|Run (?:now|again|the)|Send|Halt|Import|Upload|Grant|Rotate)\b/.test(name));
    expect(sent).toEqual([]);

    const skill = screens.find((path) => /^\/skills\/[^n]/.test(path)) as string;
    await visit(page, skill);
    const save = page.getByRole('button', { name: 'Save changes' });
    expect([await save.isDisabled(), await save.getAttribute('title')]).toEqual([
      true,
      'Your role viewer does not have the scope write; ask an administrator for it',
    ]);
    await visit(page, '/skills');
    expect(await page.getByRole('link', { name: 'New skill' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: /^(Audit|Make your own)$/ }).count()).toBe(0);
    await visit(page, '/audit');
    await page.getByText('Your role viewer does not have the scope audit').waitFor();
  }, 300_000);
});
