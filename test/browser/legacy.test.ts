import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

describeInBrowser('the legacy dashboard', () => {
  it('loads without trouble, and axe finds nothing', async ({ page }) => {
    await page.goto(`${here.url}/dashboard-legacy`);
    expect(await page.title()).toContain('Perdura');
    expect(await axe(page)).toEqual([]);
  });
});
