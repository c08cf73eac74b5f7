import { afterAll, beforeAll } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
  here.model.script(says('Done.'));
  await here.ended(await here.prompt(await here.workflow()));
});
afterAll(() => here.stop());

describeInBrowser('idle', () => {
  it('counts', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/`);
    await page.getByRole('heading', { name: 'Recent tasks' }).waitFor();
    await page.waitForTimeout(3000);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url().replace(here.url, '')));
    await page.waitForTimeout(20_000);
    console.log('REQUESTS', asked.length, JSON.stringify(asked));
  }, 90_000);
});
