import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { chooseMore, darken, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { everything } from '../tools/support.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ALLOW_STDIO_MCP: 'true' } });
});
afterAll(() => here.stop());

const signIn = (page: Page, path = '/', url = here.url) => signInAsAlice(page, `${url}/dashboard${path}`);
const make = async (path: string, body: object) => (await here.alice.ok(here.alice.post(`/api/${path}`, body))).id as string;
const read = (path: string) => here.alice.ok(here.alice.get(`/api/${path}`));
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Clicks a button and returns the file that it downloads. */
const downloadedBy = (page: Page, name: string) => downloadedAfter(page, () => button(page, name).click());

async function downloadedAfter(page: Page, act: () => Promise<void>): Promise<{ name: string; content: unknown }> {
  const [download] = await Promise.all([page.waitForEvent('download'), act()]);
  return { name: download.suggestedFilename(), content: JSON.parse(await readFile(await download.path(), 'utf8')) };
}

/** An export, whose only varying part is the time of the export. */
const sameBundle = async (path: string) => ({ ...(await read(path)), exported_at: expect.any(String) });

async function finishedRun(workflow: object = {}): Promise<{ workflow_id: string; task_id: string }> {
  const workflow_id = await here.workflow({ workflow });
  here.model.script(says('Done.'));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  return { workflow_id, task_id };
}

describeInBrowser('a download', () => {
  it('saves the bundle of a run as the API returns it, and shows the error if there is none', async ({ page, troubles }) => {
    const { workflow_id, task_id } = await finishedRun();
    await signIn(page, `/tasks/${task_id}`);
    const file = await downloadedAfter(page, () => chooseMore(page, 'Download bundle'));
    expect(file).toEqual({ name: `run-${task_id}.json`, content: await read(`tasks/${task_id}/bundle`) });

    troubles.allow(/404/);
    await here.alice.ok(here.alice.del(`/api/workflows/${workflow_id}`));
    await chooseMore(page, 'Download bundle');
    await page.getByRole('alert').getByText(task_id).waitFor();
    expect(await axe(page)).toEqual([]);
  });

  it.for(['agents', 'skills', 'workflows', 'knowledge-sources'])('saves one record of %s', async (slug, { page, troubles }) => {
    const id =
      slug === 'workflows'
        ? await here.workflow()
        : await make(slug, { name: `one of ${slug}`, ...(slug === 'skills' && { instructions: 'Do.' }) });
    await signIn(page, `/${slug}/${id}`);
    const file = await downloadedBy(page, 'Export');
    expect(file.name).toMatch(new RegExp(`^(agent|skill|workflow|source)-${id}\\.json$`));
    expect(file.content).toEqual(await sameBundle(`${slug}/${id}/export`));

    troubles.allow(/404/);
    await here.alice.ok(here.alice.del(`/api/${slug}/${id}`));
    await button(page, 'Export').click();
    await page.getByRole('alert').getByText(id).waitFor();
    expect(await axe(page)).toEqual([]);
  });

  it('saves everything, or all of one kind, and shows the error if the service is unreachable', async ({ page, troubles }) => {
    troubles.allow(/ERR_INCOMPLETE_CHUNKED_ENCODING/);
    const proxy = await startDroppingProxy(here.url);
    try {
      await signIn(page, '/transfer', proxy.url);
      for (const [choice, name, path] of EXPORTS) {
        await page.getByLabel('Resources', { exact: true }).selectOption(choice);
        const file = await downloadedBy(page, 'Download');
        expect(file).toEqual({ name: `perdura-${name}.json`, content: await sameBundle(path) });
      }
    } finally {
      await proxy.stop();
    }
    troubles.allow(/ERR_CONNECTION_REFUSED/);
    await button(page, 'Download').click();
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    expect(await axe(page)).toEqual([]);
    await darken(page);
    expect(await axe(page)).toEqual([]);
  });
});

const EXPORTS = [
  ['Everything', 'bundle', 'export'],
  ['Skills', 'skill', 'skills/export'],
  ['Guardrails', 'guardrail', 'guardrails/export'],
  ['Agents', 'agent', 'agents/export'],
  ['Your workflows', 'workflow', 'workflows/export'],
  ['Knowledge sources', 'knowledge_source', 'knowledge-sources/export'],
  ['Your schedules', 'scheduled_agent', 'scheduled-agents/export'],
] as const;

describeInBrowser('an MCP server in the dashboard', () => {
  it('lets the user select the tools that agents can use', async ({ page }) => {
    const { connection_config, paths } = everything();
    const id = await make('mcps', { name: 'everything', transport_type: 'stdio', connection_config, paths });
    const allowed = async () => (await read(`mcps/${id}`)).allowed_tools as string[];
    const { tools } = await here.alice.ok(here.alice.post(`/api/mcps/${id}/tools/refresh`));
    const all = (tools as { name: string }[]).map(({ name }) => name);
    await signIn(page, `/mcps/${id}`);
    await button(page, 'List tools').click();
    const tick = (name: string) => page.getByRole('checkbox', { name, exact: true });
    await tick('echo').focus();
    await page.keyboard.press('Space');
    await tick('get-env').uncheck();
    const others = all.filter((name) => name !== 'echo' && name !== 'get-env');
    await expect.poll(allowed).toEqual(others);
    // The form below shows the same selection.
    await expect.poll(() => page.getByText('Allowed tools', { exact: true }).locator('../..').innerText()).toContain('get-sum');
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('checkbox');
    expect(await axe(page)).toEqual([]);

    await page.reload();
    await button(page, 'List tools').click();
    await tick('get-sum').waitFor();
    expect([await tick('echo').isChecked(), await tick('get-sum').isChecked()]).toEqual([false, true]);
    await tick('echo').check();
    await tick('get-env').check();
    // An empty list allows all tools, including those the server adds later.
    await expect.poll(allowed).toEqual([]);

    // A change by someone else is kept.
    await here.alice.ok(here.alice.put(`/api/mcps/${id}/tools`, { allowed_tools: ['get-sum', 'get-env'] }));
    await tick('get-env').uncheck();
    await expect.poll(allowed).toEqual(['get-sum']);
  }, 120_000);
});

describeInBrowser('a webhook that was refused', () => {
  it('is delivered again from the page of its run', async ({ page }) => {
    const receiver = await startReceiver();
    try {
      // 410 is final: Perdura does not retry.
      receiver.answers(410);
      const { task_id } = await finishedRun({ webhook_url: receiver.url });
      await signIn(page, `/tasks/${task_id}`);
      await page.getByRole('tab', { name: 'Details' }).click();
      const delivery = page.getByRole('group').filter({ hasText: receiver.url });
      await delivery.locator('[data-tone="bad"]').waitFor();
      await delivery.getByText(receiver.url).click();
      await delivery.getByText('Attempt 1: 410').waitFor();
      await button(page, 'Deliver again').click();
      await delivery.getByText('Attempt 2: 200').waitFor({ timeout: 30_000 });
      await delivery.locator('[data-tone="good"]').waitFor();
      const [first, second] = receiver.received;
      expect([second!.body, second!.headers['webhook-id']]).toEqual([first!.body, first!.headers['webhook-id']]);
      expect(await axe(page)).toEqual([]);
    } finally {
      await receiver.stop();
    }
  }, 120_000);
});

describeInBrowser('a schedule in the dashboard', () => {
  long('runs past due times, and shows why a range is refused', async ({ page, troubles }) => {
    const hour = 3_600_000;
    const start_at = new Date(Math.floor(Date.now() / hour - 5) * hour).toISOString();
    const values = { name: 'behind', prompt: 'Report.', interval_value: 1, interval_unit: 'hours', start_at };
    const id = await make('scheduled-agents', { ...values, workflow_id: await here.workflow() });
    await here.alice.ok(here.alice.patch(`/api/scheduled-agents/${id}/disable`));
    await signIn(page, `/scheduled-agents/${id}`);
    await button(page, 'Back-fill …').click();
    const dialog = page.getByRole('dialog');
    const local = (at: number) =>
      page.evaluate(`new Date(${at} - new Date(${at}).getTimezoneOffset() * 60e3).toISOString().slice(0, 19)`);
    const first = Date.parse(start_at) + hour;
    const fill = async (from: number, to: number) => {
      await dialog.getByLabel('First due time').fill((await local(from)) as string);
      await dialog.getByLabel('Last due time').fill((await local(to)) as string);
      await dialog.getByRole('button', { name: 'Back-fill' }).click();
    };
    troubles.allow(/422/);
    await fill(first + hour, first);
    await dialog.getByText('Must not be before from').first().waitFor();
    expect(await axe(page)).toEqual([]);
    here.model.script(says('One.'), says('Two.'));
    await fill(first, first + hour);
    await dialog.getByText('2 of 2 due times have a run of a back-fill.').waitFor();
    await button(page, 'Done').click();
    const fires = (await here.alice.ok(here.alice.get(`/api/scheduled-agents/${id}/runs`))) as any[];
    const runs = fires.filter(({ task_id }) => task_id);
    for (const { task_id, outcome } of runs)
      expect([outcome, (await here.ended(task_id)).status]).toEqual(['backfilled', 'completed']);
    expect(runs).toHaveLength(2);
    await expect.poll(() => page.getByRole('cell', { name: 'backfilled' }).count()).toBe(2);
  });

  it('is switched off and on', async ({ page }) => {
    const workflow_id = await here.workflow();
    const values = { name: 'daily', workflow_id, prompt: 'Go.', interval_value: 1, interval_unit: 'days' };
    const id = await make('scheduled-agents', values);
    const state = async () => {
      const { enabled, next_run_at } = await read(`scheduled-agents/${id}`);
      return { enabled, due: next_run_at !== null };
    };
    await signIn(page, `/scheduled-agents/${id}`);
    await button(page, 'Switch off').focus();
    await page.keyboard.press('Enter');
    await button(page, 'Switch on').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Switch on');
    expect(await state()).toEqual({ enabled: false, due: false });
    await page.reload();
    await page.getByText('Next run').locator('..').getByText('none').waitFor();
    await button(page, 'Switch on').click();
    await button(page, 'Switch off').waitFor();
    expect(await state()).toEqual({ enabled: true, due: true });
    expect(await axe(page)).toEqual([]);
  });

  it('is made by a cron expression, with its next due times, and becomes one at an interval', async ({ page, troubles }) => {
    troubles.allow(/status of 422/);
    await signIn(page, `/scheduled-agents/new?workflow_id=${await here.workflow()}`);
    await page.getByRole('textbox', { name: 'Name' }).fill('weekdays');
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Go.');
    await page.getByRole('radio', { name: 'by a cron expression' }).check();
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Asia/Tokyo');
    await page.getByRole('option', { name: 'Asia/Tokyo' }).click();
    const cron = page.getByRole('textbox', { name: 'Cron expression' });
    await cron.fill('30 7 * *');
    await page.getByText('Write five fields').waitFor();
    await cron.fill('30 7 * * MON-FRI');
    await page.getByText('In Asia/Tokyo').waitFor();
    expect(await page.getByText('07:30 GMT+9').count()).toBe(5);
    expect(await axe(page)).toEqual([]);
    await button(page, 'Create schedule').click();
    await page.waitForURL(/scheduled-agents\/[\w-]{36}$/);
    const id = page.url().split('/').at(-1);
    expect(await read(`scheduled-agents/${id}`)).toMatchObject({
      ...{ cron: '30 7 * * MON-FRI', time_zone: 'Asia/Tokyo', interval_value: null, interval_unit: null },
    });
    await page.getByText('Repeats').locator('..').getByText('30 7 * * MON-FRI (Asia/Tokyo)').waitFor();
    await page.getByRole('radio', { name: 'at an interval' }).check();
    await page.getByRole('textbox', { name: 'Every' }).fill('2');
    await page.getByRole('combobox', { name: 'Unit' }).selectOption('days');
    await button(page, 'Save changes').click();
    await page.getByText('Repeats').locator('..').getByText('every 2 days').waitFor();
    expect(await read(`scheduled-agents/${id}`)).toMatchObject({ cron: null, interval_value: 2, interval_unit: 'days' });
    expect(await axe(page)).toEqual([]);
  });
});
