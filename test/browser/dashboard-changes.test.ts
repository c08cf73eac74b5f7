import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { button } from '../support/browser/first-run.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { freePort, startApiProcess } from '../support/machine/processes.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let office: string;
beforeAll(async () => {
  here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none' } });
  office = await here.workflow({ workflow: { title: 'Office' } });
  here.model.script(says('Done.'));
  await here.ended(await here.prompt(office, 'Pay the invoice'));
});
afterAll(() => here.stop());

const SETTLED_MS = 1_500;

describeInBrowser('the overview', () => {
  it('asks the service at most twice a minute while nothing happens', async ({ page_apart: page }) => {
    // The service sends its comments in real time, so the page has to wait for them in real time, too.
    await page.context().addInitScript('globalThis.realTimeout ??= AbortSignal.timeout.bind(AbortSignal)');
    await page.clock.install();
    await page.addInitScript('AbortSignal.timeout = globalThis.realTimeout');
    await signInAsAlice(page, `${here.url}/dashboard/`);
    await page.getByRole('region', { name: 'Recent tasks' }).getByText('Office').first().waitFor();
    let last = Date.now();
    const asked: string[] = [];
    page.on('request', (request) => {
      last = Date.now();
      asked.push(new URL(request.url()).pathname);
    });
    const pass = async (ms: number) => {
      last = Date.now();
      await page.clock.runFor(ms);
      await until('what is due is read', async () => Date.now() - last > SETTLED_MS);
    };
    // What changed just before the screen was opened is read within a minute.
    await pass(120_000);
    asked.length = 0;
    await pass(120_000);
    expect(asked).toContain('/health/ready');
    expect(asked.length, asked.join(' ')).toBeLessThanOrEqual(4);
  });

  it('shows a run that was started elsewhere, and its end, without a reload', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/`);
    const recent = page.getByRole('region', { name: 'Recent tasks' }).getByRole('row');
    await expect.poll(() => recent.count()).toBe(2);
    here.model.script(says('Done.', { pause_ms: 3_000 }));
    const task_id = await here.prompt(office, 'Write to the bank');
    await expect.poll(() => recent.nth(1).innerText(), { timeout: 20_000 }).toMatch(/running/i);
    await here.ended(task_id);
    await expect.poll(() => recent.nth(1).innerText(), { timeout: 20_000 }).toMatch(/completed/i);
    expect(await recent.count()).toBe(3);
  });
});

describeInBrowser('a record', () => {
  it('is not read again when its deletion is reported before it is answered', async ({ page }) => {
    const { id } = await here.alice.ok(here.alice.post('/api/skills', { name: 'Unneeded', instructions: 'Do it.' }), 201);
    const address = `${here.url}/dashboard/skills/${id}`;
    await signInAsAlice(page, address);
    const elsewhere = await page.context().newPage();
    await signInAsAlice(elsewhere, address);
    const reported = elsewhere.waitForResponse((response) => response.status() === 404);
    await page.route(`**/api/skills/${id}`, async (route) => {
      const answer = await route.fetch();
      if (route.request().method() === 'DELETE') await reported;
      await route.fulfill({ response: answer });
    });
    await button(page, 'Delete …').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Skills', exact: true }).waitFor();
  });
});

describeInBrowser('a list', () => {
  it('shows what another process wrote, also while its own was killed', async ({ page, troubles }) => {
    troubles.allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
    const port = await freePort();
    const open = () => startApiProcess(here.setting, { PERDURA_PORT: String(port) });
    const first = await open();
    await signInAsAlice(page, `${first.client.url}/dashboard/skills`, first.token);
    const skill = (name: string) => here.alice.ok(here.alice.post('/api/skills', { name, instructions: 'Do it.' }), 201);
    await page.getByRole('heading', { level: 1, name: 'Skills' }).waitFor();
    await skill('Written elsewhere');
    await page.getByRole('row').filter({ hasText: 'Written elsewhere' }).waitFor();
    await first.api.end('SIGKILL');
    await skill('Written meanwhile');
    const second = await open();
    await page.getByRole('row').filter({ hasText: 'Written meanwhile' }).waitFor({ timeout: 60_000 });
    await page.close();
    await second.api.end('SIGTERM');
  }, 120_000);

  it('is not followed in a hidden tab, and read again when the tab is seen', async ({ page_apart: page }) => {
    await page.clock.install();
    await signInAsAlice(page, `${here.url}/dashboard/guardrails`);
    await page.getByRole('heading', { level: 1, name: 'Guardrails' }).waitFor();
    const turn = (hidden: boolean) =>
      page.evaluate((is_hidden) => {
        const { document, Event } = globalThis as any;
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => is_hidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    const closed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/changes'));
    await turn(true);
    await page.clock.runFor(15_000);
    await closed;
    const guardrail = { name: 'Polite', guardrail_type: 'prompt', config: { max_length: 7 } };
    await here.alice.ok(here.alice.post('/api/guardrails', guardrail), 201);
    await turn(false);
    await page.getByRole('row').filter({ hasText: 'Polite' }).waitFor();
  });
});
