import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice' } });
  const skill = { name: 'of bob', instructions: 'x' };
  await here.bob.ok(here.bob.post('/api/skills', skill), 201);
  const { id } = await here.alice.ok(here.alice.post('/api/agents', { name: 'of alice' }), 201);
  for (let n = 0; n < 60; n += 1) await here.alice.ok(here.alice.put(`/api/agents/${id}`, { description: `${n}` }));
});
afterAll(() => here.stop());

describeInBrowser('the audit in the dashboard', () => {
  it('shows who did what, filters by what is clicked or typed, and loads more', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/`);
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByText('50 of 62').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('62 of 62').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'bob', exact: true }).click();
    await page.getByText('1 of 1').waitFor();
    expect(await page.getByLabel('Person').inputValue()).toBe('local:bob');
    const cells = await page.getByRole('row').nth(1).getByRole('cell').allInnerTexts();
    expect(cells.slice(1)).toEqual(['bob', 'create_skill', expect.stringMatching(/^skills\s/), '201', '127.0.0.1']);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByLabel('Action').fill('create_agent');
    await page.getByText('1 of 1').waitFor();
    await page.getByLabel('To', { exact: true }).fill('2020-01-01');
    await page.getByText('No entry matches these filters.').waitFor();
  });
});
