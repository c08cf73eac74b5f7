import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let task_id: string;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice', WORKER_MAX_ACTIVITIES: '13' } });
  here.model.script(fails(401));
  task_id = await here.prompt(await here.workflow());
  await here.ended(task_id);
  await until('a report of the worker', async () => (await here.sql('SELECT 1 FROM worker_beats')).length === 1);
});
afterAll(() => here.stop());

describeInBrowser('the page System', () => {
  it('shows an administrator how the installation is, and leads to a failed run', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/`);
    await page.getByRole('link', { name: 'System', exact: true }).click();
    const cellsOf = (section: string, row: number) =>
      page.getByRole('region', { name: section, exact: true }).getByRole('row').nth(row).getByRole('cell').allInnerTexts();
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    expect(await cellsOf('Workers', 1)).toMatchObject({
      0: expect.stringMatching(new RegExp(`^${process.pid}@`)),
      ...{ 1: 'works', 2: here.setting.version, 3: 'runs, models, tools', 4: '0 of 13 (0 %)' },
    });
    expect((await cellsOf('Services', 1)).slice(0, 2)).toEqual(['database', 'ok']);
    expect((await cellsOf('Queues', 2)).slice(1)).toEqual(['steps and calls', '0', '—', '1']);
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('link', { name: task_id }).click();
    await page.waitForURL(`**/tasks/${task_id}`);
  });

  it('is not there for others', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/system`, here.people.bob.token);
    await page.getByText('Only administrators see the state of the installation.').waitFor();
    expect(await page.getByRole('link', { name: 'Audit', exact: true }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'System', exact: true }).count()).toBe(0);
  });
});
