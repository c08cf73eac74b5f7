import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import type { InboxItem } from '../../src/contracts/inbox.ts';
import type { TaskStep } from '../../src/contracts/tasks.ts';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { addFilter } from '../support/browser/filters.ts';
import { clientOf } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const TODO = { name: 'manage_todo_list', args: { todoList: [{ id: 1, title: 'Pay Ann', status: 'in-progress' }] } };

beforeAll(async () => {
  here = await startTestInstallation({ env: { RECONCILE_SECONDS: '86400' } });
  const office = await here.workflow({ workflow: { title: 'Office' } });
  for (const [prompt, answer] of [
    ['Pay the invoice', says('Paid.')],
    ['Write to the landlord', fails(400, { message: 'unknown deployment' })],
    ['Write to the bank', fails(401, { message: 'no such key' })],
  ] as const) {
    here.model.script(answer);
    await here.ended(await here.prompt(office, prompt));
  }
});
afterAll(() => here?.stop());

const signIn = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const rows = (page: Page) => page.getByRole('row');
const rowOf = (page: Page, text: string) => rows(page).filter({ hasText: text });
const statusOf = async (task_id: string) => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status;

const copyOf = async (workflow_id: string): Promise<string> => {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  return (await here.alice.ok(here.alice.post('/api/workflows', { agent_id, title: 'Copy' }), 201)).id;
};

describeInBrowser('several selected tasks', () => {
  it('are shown before they are halted, approved and sent again, each with its result', async ({ page }) => {
    const workflow_id = await here.workflow({
      agent: { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] },
    });
    here.model.script(asks(TODO, { ...TODO, id: 'second' }));
    const waiting = await here.prompt(workflow_id, 'Ask me first');
    await until('the approval', async () => (await statusOf(waiting)) === 'waiting');
    here.model.script(hangs('Half'));
    const open = await here.prompt(await here.workflow(), 'Never ends');
    await until('the run', async () => (await statusOf(open)) === 'running');
    await signIn(page, '/tasks');
    await page.getByRole('checkbox', { name: 'Select Ask me first' }).check();
    await page.getByRole('checkbox', { name: 'Select Never ends' }).check();
    expect(await button(page, 'Retry').isDisabled()).toBe(true);
    const sheet = page.getByRole('dialog');
    await button(page, 'Approve 1').click();
    await expect.poll(() => sheet.getByText('todoList').count()).toBe(2);
    expect(await faultsOf(page)).toEqual([]);
    const last = sheet.getByRole('checkbox', { name: 'manage_todo_list' }).last();
    for (const ticked of [false, true, false]) await last.setChecked(ticked);
    await sheet.getByRole('button', { name: 'Approve 1' }).click();
    await sheet.getByText('Approve: 1 of 1 done').waitFor();
    await sheet.getByText('Close', { exact: true }).click();
    const statuses = async () => {
      const [step] = (await here.alice.ok(here.alice.get(`/api/tasks/${waiting}/steps`))) as unknown as TaskStep[];
      return step!.tool_calls.map(({ status }) => status).sort();
    };
    await expect.poll(statuses).toEqual(['done', 'waiting_approval']);
    here.model.script(says('Approved.'));
    const [left] = (await here.alice.ok(here.alice.get(`/api/inbox?task_id=${waiting}`))) as unknown as InboxItem[];
    await here.alice.ok(here.alice.post(`/api/tasks/${waiting}/approvals/${left!.call_id}`, { decision: 'approve' }));
    await here.ended(waiting);
    await page.getByRole('checkbox', { name: 'Select Ask me first' }).uncheck();
    await button(page, 'Halt 1').click();
    await sheet.getByRole('button', { name: 'Cancel' }).click();
    expect(await statusOf(open)).toBe('running');
    await button(page, 'Halt 1').click();
    await sheet.getByRole('button', { name: 'Halt 1' }).click();
    await sheet.getByText('halt requested').waitFor();
    expect(await here.ended(open)).toMatchObject({ status: 'halted' });
    await sheet.getByText('Close', { exact: true }).click();
    await button(page, 'Clear selection').click();

    await page.getByLabel('Status', { exact: true }).selectOption('failed');
    await expect.poll(() => rows(page).count()).toBe(3);
    here.model.always(says('Now it works.'));
    await page.getByRole('checkbox', { name: 'Select all shown' }).check();
    await button(page, 'Retry 2').click();
    await sheet.getByRole('button', { name: 'Retry 2' }).click();
    await expect.poll(() => sheet.getByText('sent again').count()).toBe(2);
    await page.getByRole('status').filter({ hasText: 'Retry: 2 of 2 done' }).waitFor({ state: 'attached' });
    const again = (await here.alice.ok(here.alice.get('/api/tasks?q=landlord'))) as unknown as { id: string }[];
    expect(again).toHaveLength(2);
    expect(await here.ended(again[0]!.id)).toMatchObject({ status: 'completed', response: 'Now it works.' });
    await page.goto(`${here.url}/dashboard/tasks/${waiting}`);
    await page.getByRole('region', { name: 'To-do list' }).getByText('Pay Ann (in-progress)').waitFor();
  });

  it('whose calls were decided meanwhile show the reason', async ({ page, troubles }) => {
    troubles.allow(/409/);
    const workflow_id = await here.workflow({
      agent: { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] },
    });
    here.model.script(asks(TODO), says('Denied.'));
    const waiting = await here.prompt(workflow_id, 'Somebody is faster');
    await until('the approval', async () => (await statusOf(waiting)) === 'waiting');
    await signIn(page, '/tasks?status=waiting');
    await page.getByRole('checkbox', { name: 'Select Somebody is faster' }).check();
    await button(page, 'Approve 1').click();
    const sheet = page.getByRole('dialog');
    await sheet.getByRole('checkbox').waitFor();
    await here.alice.ok(here.alice.post(`/api/tasks/${waiting}/approvals/1-1`, { decision: 'deny' }));
    await here.ended(waiting);
    await sheet.getByRole('button', { name: 'Approve 1' }).click();
    await sheet.getByText('Approve: 0 of 1 done, 1 failed').waitFor();
    await sheet.getByText('is not waiting for this decision').waitFor();
  });

  long('that cannot be approved show the reason', async ({ page }) => {
    const waits = { budget: { max_tokens: 1, on_exhausted: 'wait' } };
    const poor = await here.prompt(await here.workflow({ workflow: waits }), 'Out of money');
    await until('the budget', async () => (await statusOf(poor)) === 'waiting');
    await signIn(page, '/tasks?status=waiting');
    await page.getByRole('checkbox', { name: 'Select Out of money' }).check();
    await button(page, 'Approve 1').click();
    await page.getByRole('dialog').getByText('None of these runs waits for an approval.').waitFor();
    await here.alice.ok(here.alice.post(`/api/tasks/${poor}/stop`));
    await here.ended(poor);
  });
});

describeInBrowser('the inbox', () => {
  it('shows what waits longest first, and decides it in its row', async ({ page }) => {
    const workflow_id = await here.workflow({
      agent: { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] },
      workflow: { title: 'Lists' },
    });
    const waiting: string[] = [];
    for (const prompt of ['First in line', 'Second in line']) {
      here.model.script(asks(TODO));
      waiting.push(await here.prompt(prompt.startsWith('First') ? workflow_id : await copyOf(workflow_id), prompt));
      await until('the approval', async () => (await statusOf(waiting.at(-1)!)) === 'waiting');
    }
    await signIn(page, '/inbox');
    await expect.poll(() => rows(page).count()).toBe(3);
    expect(await rows(page).nth(1).innerText()).toMatch(/Approve the call to manage_todo_list\?.*First in line/s);
    expect(await faultsOf(page)).toEqual([]);
    here.model.always(says('Decided.'));
    await rowOf(page, 'Second in line').getByRole('button', { name: 'Deny' }).click();
    await expect.poll(() => rows(page).count()).toBe(2);
    await page.getByRole('checkbox', { name: 'Select all shown' }).check();
    await button(page, 'Approve 1').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve 1' }).click();
    await page.getByRole('dialog').getByText('Approve: 1 of 1 done').waitFor();
    const ended = await Promise.all(waiting.map((id) => here.ended(id)));
    expect(ended.map(({ status }) => status)).toEqual(['completed', 'completed']);
    await page.getByText('No run is waiting for you.').waitFor();
  });
});

describeInBrowser('the list of tasks', () => {
  it('is grouped by error, and each error leads to its tasks', async ({ page }) => {
    await signIn(page, '/tasks');
    await page.getByLabel('Group by error').click();
    const errors = page.getByRole('group', { name: 'Errors' });
    await errors.getByText('unknown deployment').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await errors.getByRole('button').first().click();
    await page.getByRole('checkbox', { name: 'Select all shown' }).waitFor();
    expect(page.url()).toContain('error_code=');
    expect(page.url()).not.toContain('group=');
  });

  it('keeps views under a name, in every browser of the person', async ({ page }) => {
    await signIn(page, '/tasks?status=failed&sort=cost');
    await button(page, 'Save this view').click();
    await page.getByRole('dialog').getByLabel('Name').fill('Dear failures');
    await page.keyboard.press('Enter');
    const view = page.getByRole('group', { name: 'Saved views' }).getByRole('button', { name: 'Dear failures', exact: true });
    await expect.poll(() => view.getAttribute('aria-pressed')).toBe('true');
    expect((await here.alice.ok(here.alice.get('/api/me/settings'))).views).toEqual([
      { screen: 'tasks', name: 'Dear failures', query: { status: 'failed', sort: 'cost' } },
    ]);
    await button(page, 'Clear filters').click();
    await expect.poll(() => view.getAttribute('aria-pressed')).toBe('false');
    await page.reload();
    await view.click();
    await expect.poll(() => new URL(page.url()).searchParams.size).toBe(2);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ status: 'failed', sort: 'cost' });
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Delete the view Dear failures').click();
    await expect.poll(async () => (await here.alice.ok(here.alice.get('/api/me/settings'))).views).toEqual([]);
  });

  long('shows rows as cards on a phone', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await signIn(page, '/tasks');
    const row = rowOf(page, 'Pay the invoice').first();
    await row.waitFor();
    for (const text of ['completed', 'Office']) expect(await row.innerText()).toContain(text);
    const labels = await row.locator('td').evaluateAll((cells: any[]) => cells.map((it) => it.dataset.label));
    expect(labels).toEqual(expect.arrayContaining(['Status', 'Prompt', 'Cost']));
    const box = page.locator('.table-scroll');
    expect(Number(await box.evaluate((it: any) => it.scrollWidth - it.clientWidth)), 'nothing is cut off').toBe(0);
  });

  long('cuts nothing off at 1024 pixels, and adds filters on a phone too', async ({ page }) => {
    await here.core.database.pool.query(
      `UPDATE tasks SET model = 'vendor/a-model-with-a-long-name', total_in = 1234567, cost = 1234.5, prompt = prompt || repeat(' and so on', 50),
        error_code = CASE WHEN status = 'failed' THEN 'model_rate_limited' END`,
    );
    await signIn(page, '/tasks');
    await rowOf(page, 'Pay the invoice').first().waitFor();
    const box = page.locator('.table-scroll');
    expect(Number(await box.evaluate((it: any) => it.scrollWidth - it.clientWidth))).toBe(0);
    await page.setViewportSize({ width: 1024, height: 800 });
    expect(Number(await box.evaluate((it: any) => it.scrollWidth - it.clientWidth))).toBe(0);
    await page.setViewportSize({ width: 390, height: 800 });
    await addFilter(page, 'Trigger');
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('trigger');
    await page.getByLabel('Trigger').selectOption('schedule');
    await page.getByText('No task matches these filters.').waitFor();
    expect(await axe(page)).toEqual([]);
  });

  it('remembers where it was: filters for every way back, and how far it was scrolled', async ({ page }) => {
    await page.setViewportSize({ width: 1280, height: 300 });
    await signIn(page, '/tasks?sort=oldest');
    await rowOf(page, 'Write to the bank').first().waitFor();
    await rowOf(page, 'Write to the bank').first().getByRole('link', { name: 'Write to the bank' }).scrollIntoViewIfNeeded();
    await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(50);
    const scrolled = await page.evaluate('scrollY');
    await rowOf(page, 'Write to the bank').first().getByRole('link', { name: 'Write to the bank' }).click();
    await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Tasks' }).waitFor();
    await page.goBack();
    await expect.poll(() => page.evaluate('scrollY')).toBe(scrolled);
    await rowOf(page, 'Write to the bank').first().getByRole('link', { name: 'Write to the bank' }).click();
    await page.getByRole('link', { name: '← Tasks' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?sort=oldest');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?sort=oldest');
  });
});

describeInBrowser('the palette', () => {
  it('opens with Ctrl+K and goes to a screen, a workflow and a run, by keyboard', async ({ page }) => {
    await signIn(page, '/');
    const go = async (text: string, option: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('textbox', { name: 'Go to' }).fill(text);
      await page.getByRole('button', { name: option }).first().waitFor();
      await page.keyboard.press('Enter');
    };
    await go('stored tok', 'Stored tokens');
    await page.getByRole('heading', { level: 1, name: 'Stored tokens' }).waitFor();
    await go('offi', 'Office');
    await page.getByRole('heading', { level: 1, name: 'Office' }).waitFor();
    await go('invoice', 'Pay the invoice');
    await expect.poll(() => page.url()).toContain('/tasks/');
    await page.keyboard.press('Control+k');
    await page.getByRole('textbox', { name: 'Go to' }).fill('a');
    await page.getByRole('button', { name: 'Alerts' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('textbox', { name: 'Go to' }).waitFor({ state: 'detached' });
  });

  long('has a page with the keys, which Ctrl+/ opens', async ({ page }) => {
    await signIn(page, '/');
    await page.keyboard.press('Control+/');
    await page.getByRole('heading', { level: 1, name: 'Keyboard shortcuts' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });
});

describeInBrowser('service keys', () => {
  it('are shown once when they are created or rotated, and deleted', async ({ page }) => {
    await signIn(page, '/keys/new');
    await page.getByRole('textbox', { name: 'Name' }).fill('of the build');
    expect(await axe(page)).toEqual([]);
    await button(page, 'Create service key').click();
    await page.getByText('Copy the key now').waitFor();
    const shown = async () => /pk_[\w-]{54}/.exec(await page.locator('.id .mono').last().innerText())?.[0] ?? '';
    const statusWith = async (key: string) => (await clientOf(here.url, key).get('/api/me')).status;
    const first = await shown();
    expect(await statusWith(first)).toBe(200);
    await page.getByRole('link', { name: 'Show its role, scopes and use' }).click();
    await page.getByText('read, run, write').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    expect(await page.content()).not.toContain(first);
    await page.setViewportSize({ width: 1280, height: 800 });
    await button(page, 'Rotate').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByText('Copy the key now').waitFor();
    expect(await statusWith(await shown())).toBe(200);
    await page.keyboard.press('Escape');
    await button(page, 'Delete').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No service key yet.').waitFor();
  });
});

describeInBrowser('alerts', () => {
  it('are created, shown with their history, and muted', async ({ page }) => {
    await signIn(page, '/alerts/new');
    await page.getByRole('textbox', { name: 'Name' }).fill('Many failures');
    await page.getByLabel('Measure').selectOption('failure_rate');
    await page.getByLabel('Fires at').fill('1');
    await page.getByLabel('Fewest runs for a failure rate').fill('1');
    expect(await axe(page)).toEqual([]);
    await button(page, 'Create alert').click();
    await page.getByText('It has not fired yet.').waitFor();
    await here.core.store.alerts.measure(new Date());
    await page.reload();
    const history = page.getByRole('group', { name: 'History of the alert' });
    await history.getByText('fired').waitFor();
    expect(await history.innerText()).toContain('none: no address');
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await button(page, 'Mute for an hour').click();
    await page.getByText('firing, muted').waitFor();
    await button(page, 'Unmute').click();
    await page.getByText('firing', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Alerts', exact: true }).click();
    await rowOf(page, 'Many failures').getByText('firing').waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });
});
