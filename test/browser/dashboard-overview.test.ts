import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let waiting: string;

/** Alice has a run that failed, one that called two tools and cost a dollar, and two that wait for her. */
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice' } });
  const provider = { name: 'priced', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'large' };
  const price_table = { '*': { input: 50_000, output: 0 } };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', { ...provider, price_table }), 201);
  const tools = [
    'def quick(n: int) -> int:\n    return n\n',
    'import time\ndef slow(n: int) -> int:\n    time.sleep(1)\n    return n\n',
  ];
  const office = await here.workflow({ agent: { provider_id }, tools, workflow: { title: 'Office' } });
  const names = ((await here.alice.ok(here.alice.get('/api/custom-tools'))) as any[]).map(({ name }) => name as string);
  here.model.script(asks(...names.map((name) => ({ name, args: { n: 2 } }))), says('Done.'), fails(400));
  await here.ended(await here.prompt(office));
  await here.ended(await here.prompt(office));
  const [quick = ''] = names.filter((name) => name.endsWith('quick'));
  const agent = { approval_tools: [quick], provider_id };
  const tool_ids = ((await here.alice.ok(here.alice.get('/api/custom-tools'))) as any[]).map(({ id }) => id);
  for (const title of ['Waits first', 'Waits second']) {
    here.model.script(asks({ name: quick, args: { n: 1 } }));
    const workflow_id = await here.workflow({ agent: { ...agent, custom_tool_ids: tool_ids }, workflow: { title } });
    const task = await here.prompt(workflow_id);
    await until('it waits', async () => (await here.alice.get(`/api/tasks/${task}`)).body.status === 'waiting');
    waiting ??= task;
  }
});
afterAll(() => here.stop());

describeInBrowser('the figures of the overview', () => {
  it('say what failed, waits, was spent and is slow, and lead to what explains it', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/`);
    const today = page.getByRole('group', { name: 'Today' });
    const figure = (label: string) => today.getByRole('link', { name: label });
    await expect.poll(() => figure('Failed').innerText()).toMatch(/50 %\s+of 2 runs/);
    await expect.poll(() => figure('Waiting longest').innerText()).toMatch(/Waits first\s+started/);
    await expect.poll(() => figure('Spent today').innerText()).toMatch(/\$1\.00\s+30 tokens/);
    await expect.poll(() => figure('Slowest tool').innerText()).toMatch(/_slow\s+95 % within/);
    expect(await axe(page)).toEqual([]);
    const leads = async (label: string, address: string) => {
      await figure(label).click();
      await expect.poll(() => page.url()).toBe(`${here.url}/dashboard${address}`);
      await page.goBack();
    };
    await leads('Failed', '/tasks?status=failed&hours=24&group=error');
    await leads('Waiting longest', `/tasks/${waiting}`);
    await leads('Spent today', '/usage?days=1');
    await leads('Slowest tool', '/usage?days=1');
  });

  it('are at most two clicks away from the answer to each question of an operator', async ({ page }) => {
    const overview = `${here.url}/dashboard/`;
    await signInAsAlice(page, overview);
    await page.getByRole('link', { name: 'Failed, last 24 hours' }).click();
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    await page.getByRole('row').nth(1).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: /^Office · #/ }).waitFor();
    await page.goto(overview);
    await page.getByRole('region', { name: 'Waiting for you' }).getByRole('link', { name: 'Waits second' }).click();
    await page.getByRole('region', { name: 'Now' }).getByText('step 1, it waits for').waitFor();
    await page.goto(overview);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByLabel('Runs of').selectOption('everybody');
    const people = page.getByRole('region', { name: 'By owner' }).getByRole('row');
    await expect.poll(() => people.nth(1).innerText()).toMatch(/^alice\s.*\$1\.00$/s);
    await page.goto(overview);
    await page.getByRole('link', { name: 'Slowest tool' }).click();
    const tools = page.getByRole('region', { name: 'Tools' }).getByRole('row');
    await expect.poll(() => tools.nth(1).innerText()).toMatch(/_slow\s/);
  });

  long('fit a phone, in both themes', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await signInAsAlice(page, `${here.url}/dashboard/`);
    await page.getByRole('group', { name: 'Today' }).getByText('of 2 runs').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axe(page), colorScheme).toEqual([]);
      expect(Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))).toBe(0);
    }
  });
});
