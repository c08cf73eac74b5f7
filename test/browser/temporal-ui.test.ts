import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { startTemporal, type Temporal } from '../../src/embedded/temporal.ts';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { testBench } from '../support/harness/embedded-homes.ts';
import { temporalForTests } from '../support/harness/embedded-temporal.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

const bench = testBench();
let temporal: Temporal;
let here: TestInstallation;
beforeAll(async () => {
  const executable = await temporalForTests();
  const home = await bench.home();
  temporal = bench.keep(await startTemporal({ executable, home, log: bench.log, port: 25_633, ui_port: 25_833 }));
  here = await startTestInstallation({
    setting: { temporal_address: temporal.address, temporal_ui_url: temporal.ui_url },
  });
}, 900_000);
afterAll(async () => {
  await here.stop();
  await bench.clear();
});

describeInBrowser('the Temporal UI of an installation', () => {
  it('opens from the dashboard and lists the runs', async ({ page }) => {
    here.model.script(says('Done.'));
    const workflow_id = await here.workflow();
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    await signInAsAlice(page, `${here.url}/dashboard/workflows/${workflow_id}`);
    const opened = page.context().waitForEvent('page');
    await page
      .getByRole('link', { name: /Temporal UI/ })
      .first()
      .click();
    const ui = await opened;
    expect(ui.url()).toContain(`${temporal.ui_url}/namespaces/default/workflows/task-${task_id}`);
    await ui.getByText(`task-${task_id}`).first().waitFor();
    await ui.getByText('Completed').first().waitFor();
    await ui.goto(`${temporal.ui_url}/namespaces/default/workflows`);
    await ui
      .getByRole('link', { name: `task-${task_id}` })
      .first()
      .waitFor();
  });

  it('refuses a foreign host name and requests from another page on this machine', async ({ page, troubles }) => {
    const { port } = new URL(temporal.ui_url);
    const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP rebound.example 127.0.0.1'];
    const rebound = await chromium.launch({ executablePath: inject('chromium'), args });
    try {
      const tab = await rebound.newPage();
      expect((await tab.goto(`http://rebound.example:${port}/`))?.status()).toBe(421);
      expect(await tab.textContent('body')).toContain('This is not rebound.example');
    } finally {
      await rebound.close();
    }
    troubles.allow(/421|403|404|BLOCKED_BY_RESPONSE/);
    // The page has no Content-Security-Policy, so that only the guard's reply refuses the request.
    const other = createServer((_, response) => response.setHeader('content-type', 'text/html').end('another page'));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    const refused = page.waitForEvent('requestfailed', (request) => request.url().startsWith(temporal.ui_url));
    await page.evaluate(`fetch('${temporal.ui_url}/api/v1/namespaces', { mode: 'no-cors' }).catch(() => {}).then(() => null)`);
    expect((await refused).failure()?.errorText).toContain('BLOCKED_BY_RESPONSE');
    other.closeAllConnections();
    other.close();
  });
});
