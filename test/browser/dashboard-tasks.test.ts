import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { addFilter } from '../support/browser/filters.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, says } from '../support/peers/model-server.ts';

let here: TestInstallation;

beforeAll(async () => {
  here = await shareInstallation();
  const office = await here.workflow({ workflow: { title: 'Office' } });
  for (const [prompt, answer] of [
    ['Pay the invoice', says('Paid it to the plumber.')],
    ['Write to the landlord', fails(400, { message: 'unknown deployment' })],
    ['Write to the bank', fails(400, { message: 'unknown deployment' })],
  ] as const) {
    here.model.script(answer);
    await here.ended(await here.prompt(office, prompt));
  }
  const priced = { name: 'priced', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'large' };
  const price_table = { '*': { input: 100_000, output: 0 } };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', { ...priced, price_table }), 201);
  here.model.script(says('Done.'));
  await here.ended(await here.prompt(await here.workflow({ agent: { provider_id } }), 'Spend a dollar'));
});
afterAll(() => here.stop());

describeInBrowser('the list of tasks', () => {
  it('finds a task by its words, and shows why others failed', async ({ page }) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await signInAsAlice(page, `${here.url}/dashboard/tasks`, here.people.alice.token);
    const rows = page.getByRole('row');
    await expect.poll(() => rows.count()).toBe(5);
    expect(await rows.nth(2).innerText()).toContain('model_error');
    const table = page.locator('.table-scroll');
    expect(Number(await table.evaluate((it: any) => it.scrollWidth - it.clientWidth)), 'nothing is cut off').toBe(0);
    await page.getByRole('group', { name: 'Errors' }).getByRole('button', { name: /2$/ }).click();
    await expect.poll(() => rows.count()).toBe(3);
    expect(await axe(page)).toEqual([]);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rows.count()).toBe(5);
    await page.getByLabel('Search').fill('plumber');
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.nth(1).innerText()).toContain('Pay the invoice');
    await page.getByLabel('Search').fill('no such words');
    await page.getByText('No task matches these filters.').waitFor();
    expect(page.url()).toContain('q=no+such+words');
  });

  it('keeps what is typed and chosen faster than the page follows', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/tasks`, here.people.alice.token);
    const search = page.getByLabel('Search');
    await search.waitFor();
    await addFilter(page, 'Cost from ($)');
    // Two changes and a look at the field, all before the router can apply the first.
    const typed = await page.evaluate(() => {
      const { document, HTMLInputElement, Event } = globalThis as any;
      const field = (label: string) =>
        document.getElementById([...document.querySelectorAll('label')].find((it: any) => it.textContent === label).htmlFor);
      const fill = (label: string, text: string) => {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field(label), text);
        field(label).dispatchEvent(new Event('input', { bubbles: true }));
        return field(label).value;
      };
      return [fill('Search', 'Spend'), fill('Cost from ($)', '0.5')];
    });
    expect(typed).toEqual(['Spend', '0.5']);
    await expect.poll(() => page.url()).toMatch(/\?q=Spend&min_cost=0\.5$/);
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await search.press('Home');
    await search.pressSequentially('"a b" or ');
    await expect.poll(() => search.inputValue()).toBe('"a b" or Spend');
  });

  long('orders them', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/tasks`, here.people.alice.token);
    await page.getByLabel('Order').selectOption('oldest');
    await expect.poll(() => page.getByRole('row').nth(1).innerText()).toContain('Pay the invoice');
  });

  long('filters by model, cost and days', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/tasks`, here.people.alice.token);
    const rows = page.getByRole('row');
    await expect.poll(() => rows.count()).toBe(5);
    await addFilter(page, 'Model');
    await page.getByLabel('Model').selectOption('large');
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.nth(1).innerText()).toContain('Spend a dollar');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await addFilter(page, 'Cost from ($)');
    await page.getByLabel('Cost from ($)').fill('0.5');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByLabel('Cost from ($)').fill('');
    await addFilter(page, 'Cost to ($)');
    await page.getByLabel('Cost to ($)').fill('0.5');
    await expect.poll(() => rows.count()).toBe(4);
    await addFilter(page, 'To');
    await page.getByLabel('To', { exact: true }).fill('2026-01-01');
    await page.getByText('No task matches these filters.').waitFor();
    await page.getByLabel('To', { exact: true }).fill('');
    await addFilter(page, 'From');
    await page.getByLabel('From', { exact: true }).fill('2026-01-01');
    await expect.poll(() => rows.count()).toBe(4);
    expect(await axe(page)).toEqual([]);
    for (const [width, colorScheme] of [
      [390, 'dark'],
      [390, 'light'],
      [1280, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      expect(await axe(page), `${width} ${colorScheme}`).toEqual([]);
      expect(Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))).toBe(0);
    }
  });
});
