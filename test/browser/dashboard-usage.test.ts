import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { formatCost, formatDuration, formatNumber, formatShare } from '../../src/dashboard/ui/figures.ts';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let office: string;

beforeAll(async () => {
  here = await shareInstallation();
  office = await here.workflow({
    tools: ['def doubled(n: int) -> int:\n    """Doubles."""\n    return n * 2\n'],
    workflow: { title: 'Office' },
  });
  const tool = (await here.alice.ok(here.alice.get('/api/custom-tools')))[0].name;
  here.model.script(asks({ name: tool, args: { n: 2 } }), says('Four.'), fails(400));
  await here.ended(await here.prompt(office));
  await here.ended(await here.prompt(office));
});
afterAll(() => here.stop());

describeInBrowser('the usage screen', () => {
  it('shows what runs spent, which failed, and how long tools took', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/usage`, here.people.alice.token);
    const groups = page.getByRole('region', { name: 'By workflow' });
    await expect.poll(() => groups.getByRole('row').nth(1).innerText()).toMatch(/^Office\s+2\s+1 \(50 %\)/);
    await expect
      .poll(() => page.getByRole('region', { name: 'Tools' }).getByRole('row').nth(1).innerText())
      .toMatch(/doubled\s+1\s+0 \(0 %\)/);
    for (const [kind, region] of [
      ['tools', 'Tools'],
      ['models', 'Models'],
    ] as const) {
      const [row] = (await here.alice.ok(here.alice.get(`/api/usage/${kind}`))).rows;
      const calls = [row.name, formatNumber(row.calls), `${row.failed} (${formatShare(row.failed, row.calls)})`];
      const durations = [row.p50_ms, row.p95_ms, row.p99_ms].map(formatDuration);
      const spent = kind === 'models' ? [formatNumber(row.total_in + row.total_out), formatCost(row)] : [];
      const cells = page.getByRole('region', { name: region }).getByRole('row').nth(1).getByRole('cell');
      await expect.poll(() => cells.allInnerTexts()).toEqual([...calls, ...durations, ...spent]);
    }
    await expect.poll(() => page.locator('.recharts-bar-rectangle').count()).toBeGreaterThan(0);
    expect(await axe(page)).toEqual([]);
    await page.getByLabel('Grouped by').selectOption('model');
    await page.getByRole('region', { name: 'By model' }).waitFor();
    expect(page.url()).toContain('by=model');
  });

  it('saves the table as CSV', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/usage`, here.people.alice.token);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('usage-by-workflow.csv');
    expect(await readFile(await download.path(), 'utf8')).toMatch(/^name,key,label,at,runs,.*\nOffice,/);
  });

  long('has no axe violations in the dark theme on a phone', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await signInAsAlice(page, `${here.url}/dashboard/usage`, here.people.alice.token);
    await page.getByRole('region', { name: 'By workflow' }).waitFor();
    expect(await axe(page)).toEqual([]);
    expect(Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))).toBe(0);
  });
});

describeInBrowser('a budget', () => {
  it('is created, and the usage screen shows what is left of it', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/usage`, here.people.alice.token);
    await page.getByText('No budget limits what you spend.').waitFor();
    await page.getByRole('link', { name: 'New budget' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Office a month');
    await page.getByLabel('Limits').selectOption('workflow');
    await page.getByRole('combobox', { name: 'Workflow' }).click();
    await page.getByRole('option', { name: 'Office', exact: true }).click();
    await page.getByLabel('Period').selectOption('month');
    await page.getByRole('radio', { name: 'tokens' }).check();
    await page.getByRole('textbox', { name: 'Tokens' }).fill('100003');
    expect(await axe(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create budget' }).click();
    await page.getByText('100,003 tokens (100 %)').waitFor();
    const [budget] = (await here.alice.ok(here.alice.get('/api/budgets'))) as unknown as object[];
    expect(budget).toMatchObject({ scope: 'workflow', subject_id: office, period: 'month', limit_usd: null, warn_at: [0.8] });

    here.model.script(says('Five.', { usage: { prompt_tokens: 10_007, completion_tokens: 53, total_tokens: 0 } }));
    await here.ended(await here.prompt(office));
    await page.goto(`${here.url}/dashboard/usage`);
    const row = page.getByRole('region', { name: 'Budgets' }).getByRole('row').filter({ hasText: 'Office a month' });
    await row.getByText('89,943 tokens (89.9 %)').waitFor();
    expect((await row.getByRole('cell').allInnerTexts()).slice(1, 5)).toEqual([
      ...['workflow Office', '100,003 tokens a month', '10,060 tokens', '0 tokens'],
    ]);

    await row.getByRole('link', { name: 'Office a month' }).click();
    await page.getByRole('textbox', { name: 'Tokens' }).fill('200003');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('189,943 tokens (94.9 %)').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No budget yet.').waitFor();
  });
});
