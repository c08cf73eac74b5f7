import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { chooseMore, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here?.stop());

const open = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const button = (page: Page | Locator, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page, name: string) => page.getByRole('dialog', { name });

async function ended(workflow_id: string, prompt = 'Say.'): Promise<string> {
  here.model.script(says('Said.'));
  const id = await here.prompt(workflow_id, prompt);
  await here.ended(id);
  return id;
}

describeInBrowser('a screen', () => {
  it('copies a text without the clipboard of the browser too, and says if it could not', async ({ page }) => {
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })");
    const id = await ended(await here.workflow());
    await open(page, `/tasks/${id}?view=steps&step=1`);
    await page.evaluate('document.execCommand = () => (globalThis.copied = document.activeElement.value, true)');
    await button(page, 'What the model saw …').click();
    await dialog(page, 'What the model saw at step 1').getByText('Parameters').click();
    await button(page, 'Copy Parameters').click();
    await page.getByText('Copied', { exact: true }).waitFor();
    expect(await page.evaluate('globalThis.copied')).toContain('"');
    await page.getByText('Copied', { exact: true }).waitFor({ state: 'detached' });
    await page.evaluate('document.execCommand = () => false');
    await button(page, 'Copy Parameters').click();
    await page.getByText('Not copied', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await dialog(page, 'What the model saw at step 1').waitFor({ state: 'detached' });
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject() } });
      document.execCommand = () => (globalThis.copied = document.activeElement.value, true)`);
    await button(page, 'Copy id').click();
    await page.getByText('Copied', { exact: true }).waitFor();
    expect(await page.evaluate('globalThis.copied')).toBe(id);
  });

  it('asks before it loses what was typed in a dialog; Escape first closes the list that is open in it', async ({ page }) => {
    const id = await ended(await here.workflow());
    await open(page, `/tasks/${id}`);
    await chooseMore(page, 'Add to dataset …');
    const adding = dialog(page, 'Add this run to a dataset');
    await adding.getByRole('combobox', { name: 'Dataset' }).click();
    await page.getByRole('option', { name: '+ New dataset …' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('option', { name: '+ New dataset …' }).waitFor({ state: 'hidden' });
    await adding.getByLabel('Expected answer').fill('');
    await page.keyboard.press('Escape');
    await dialog(page, 'Leave without saving?').waitFor();
    await button(page, 'Stay').click();
    await adding.getByLabel('Expected answer').waitFor();
  });

  it('closes what is open with Back, the innermost first, and only then leaves the run', async ({ page }) => {
    const id = await ended(await here.workflow());
    await open(page, '/tasks');
    await page.locator(`a[href$="/tasks/${id}"]`).first().click();
    await chooseMore(page, 'Add to dataset …');
    const adding = dialog(page, 'Add this run to a dataset');
    await adding.getByLabel('Expected answer').fill('');
    const asking = dialog(page, 'Leave without saving?');
    await page.goBack();
    await asking.waitFor();
    await page.goBack();
    await asking.waitFor({ state: 'detached' });
    await adding.getByLabel('Expected answer').waitFor();
    await page.goBack();
    await button(page, 'Leave').click();
    await adding.waitFor({ state: 'detached' });
    await page.keyboard.press('Control+K');
    await page.getByRole('textbox', { name: 'Go to' }).waitFor();
    await page.goBack();
    await page.getByRole('textbox', { name: 'Go to' }).waitFor({ state: 'detached' });
    await page.waitForURL(`**/tasks/${id}`);
    await page.goBack();
    await page.waitForURL('**/tasks');
  });

  it('closes the menu of a phone with Back and with Escape', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await open(page, '/tasks');
    await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
    const menu = button(page, 'Menu');
    await menu.click();
    await page.getByRole('link', { name: 'Skills', exact: true }).click();
    await page.getByRole('heading', { name: 'Skills', exact: true }).waitFor();
    for (const close of [() => page.goBack(), () => page.keyboard.press('Escape')]) {
      await menu.click();
      expect(await menu.getAttribute('aria-expanded')).toBe('true');
      await close();
      await expect.poll(() => menu.getAttribute('aria-expanded')).toBe('false');
      await expect.poll(() => page.url()).toMatch(/\/skills$/);
    }
  });
});

describeInBrowser('a run in progress', () => {
  it('is followed until the reader moves up by a key or a finger', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('A beginning'));
    await open(page, `/tasks/${await here.prompt(workflow_id, 'Talk.')}`);
    const follows = page.getByRole('region', { name: 'Now' }).getByRole('switch', { name: 'Follow the end' });
    const begin = async () => {
      await follows.check();
      await page.evaluate('document.activeElement.blur()');
    };
    const touch = (from: number, to: number) =>
      page.evaluate(`for (const [type, clientY] of [['touchstart', ${from}], ['touchmove', ${to}]])
        dispatchEvent(new TouchEvent(type, { touches: [new Touch({ identifier: 7, target: document.body, clientY })] }))`);
    await begin();
    await page.keyboard.press('ArrowDown');
    await touch(211, 101);
    expect(await follows.isChecked()).toBe(true);
    await page.keyboard.press('PageUp');
    await expect.poll(() => follows.isChecked()).toBe(false);
    await begin();
    await touch(101, 211);
    await expect.poll(() => follows.isChecked()).toBe(false);
    await button(page, 'Halt …').click();
    await button(page.getByRole('dialog'), 'Halt').click();
    await page.getByText('halted').first().waitFor();
  });

  it('gets a prompt with the effort and the order that were chosen, and no empty one', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('A beginning'), says('At once.'));
    const running = await here.prompt(workflow_id, 'Talk.');
    const sent: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('/prompt')) sent.push(request.postDataJSON());
    });
    await open(page, `/workflows/${workflow_id}`);
    const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true });
    await prompt.press('Control+Enter');
    await page.getByLabel('Reasoning effort').selectOption('low');
    await page.getByLabel('If a run is in progress').selectOption('halt the run');
    await prompt.fill('Now.');
    await prompt.press('Meta+Enter');
    await page.getByTestId('transcript').getByText('At once.').waitFor();
    expect(sent).toEqual([expect.objectContaining({ prompt: 'Now.', reasoning_effort: 'low', on_busy: 'interrupt' })]);
    expect((await here.ended(running)).status).toBe('halted');
  });
});

describeInBrowser('the list of tasks', () => {
  it('leaves a filter by the button that set it', async ({ page }) => {
    const workflow_id = await here.workflow({ workflow: { title: 'Wrong' } });
    here.model.script(fails(400, { message: 'unknown deployment' }));
    await here.ended(await here.prompt(workflow_id, 'Fail.'));
    await open(page, `/tasks?workflow_id=${workflow_id}`);
    const search = () => new URL(page.url()).searchParams;
    const error = page.getByRole('group', { name: 'Errors' }).getByRole('button');
    for (const code of ['model_error', null]) {
      await error.click();
      await expect.poll(() => search().get('error_code')).toBe(code);
    }
    for (const group of ['error', null]) {
      await page.getByRole('switch', { name: 'Group by error' }).click();
      await expect.poll(() => search().get('group')).toBe(group);
    }
    await button(page, 'Save this view …').click();
    await page.getByLabel('Name', { exact: true }).fill('Of one workflow');
    await button(page, 'Save').click();
    const view = button(page, 'Of one workflow');
    await expect.poll(() => view.getAttribute('aria-pressed')).toBe('true');
    await view.click();
    await expect.poll(() => search().size).toBe(0);
    await view.click();
    await expect.poll(() => search().get('workflow_id')).toBe(workflow_id);
    await button(page, 'Remove the filter Workflow').click();
    await expect.poll(() => search().size).toBe(0);
  });

  it('says for which of the selected runs an action failed', async ({ page, troubles }) => {
    troubles.allow(/404/);
    const [kept, gone] = [await here.workflow(), await here.workflow()];
    await ended(kept, 'Keep me.');
    await ended(gone, 'Lose me.');
    await open(page, '/tasks?status=completed');
    for (const name of ['Keep me.', 'Lose me.']) await page.getByRole('checkbox', { name: `Select ${name}` }).check();
    // The list is not read again, so that the run that is gone stays in it.
    await page.route(/\/api\/tasks\?/, () => {});
    await here.alice.ok(here.alice.del(`/api/workflows/${gone}`));
    here.model.script(says('Again.'));
    await button(page, 'Retry 2 …').click();
    const sheet = page.getByRole('dialog');
    await button(sheet, 'Retry 2').click();
    await expect.poll(() => page.locator('#live-region').textContent()).toBe('Retry: 1 of 2 done, 1 failed');
    expect(await sheet.locator('.status[data-tone="bad"]').innerText()).toContain('No ');
    expect(await sheet.locator('.status[data-tone="good"]').count()).toBe(1);
  });
});

describeInBrowser('the runs to compare with', () => {
  it('are at most three others; a workflow may have no other run', async ({ page }) => {
    const workflow_id = await here.workflow();
    const first = await ended(workflow_id, 'First.');
    await open(page, `/tasks/${first}`);
    await chooseMore(page, 'Compare with …');
    await page.getByText('This workflow has no other run.').waitFor();
    for (const prompt of ['Second.', 'Third.', 'Fourth.', 'Fifth.']) await ended(workflow_id, prompt);
    await page.reload();
    await chooseMore(page, 'Compare with …');
    const choice = (name: RegExp) => page.getByRole('checkbox', { name });
    for (const name of [/Second/, /Third/, /Fourth/]) await choice(name).check();
    expect(await choice(/Fifth/).isDisabled()).toBe(true);
    await choice(/Third/).uncheck();
    expect(await choice(/Fifth/).isDisabled()).toBe(false);
    await button(page, 'Compare').click();
    await page.getByRole('columnheader', { name: 'Run C' }).first().waitFor();
  });
});

describeInBrowser('the steps of a fork', () => {
  it('say which were copied; other keys move to no step', async ({ page }) => {
    const workflow_id = await here.workflow();
    const source = await ended(workflow_id);
    await here.core.database.pool.query(
      `INSERT INTO task_steps (task_id, step, attempts, model, finish, started_at, ended_at) SELECT task_id, 2, 1, model, 'stop', ended_at, ended_at
        FROM task_steps WHERE task_id = $1`,
      [source],
    );
    here.model.script(says('Otherwise.'));
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${source}/fork`, { from_step: 2, effects: 'stub' }), 201);
    await here.ended(fork.task_id);
    await open(page, `/tasks/${fork.task_id}?view=steps&step=2`);
    const row = page.getByRole('option', { name: /^Step 1, / });
    expect(await row.innerText()).toContain('copied');
    await page.getByRole('listbox', { name: 'Steps of the run' }).press('x');
    expect(new URL(page.url()).searchParams.get('step')).toBe('2');
  });
});

describeInBrowser('the page that creates an agent', () => {
  it('takes a provider that is there already, once it is chosen and the agent has its own name', async ({ page }) => {
    const workflow_id = await here.workflow({ agent: { name: 'Clerk' } });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const { provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/providers/${provider_id}`));
    await open(page, '/make');
    await page.getByRole('radio', { name: 'Existing provider' }).click();
    await button(page, 'Test').click();
    await page.getByText('Choose a provider', { exact: true }).waitFor();
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name, exact: true }).click();
    const tested = page.waitForResponse((response) => response.url().endsWith(`/api/providers/${provider_id}/test`));
    await button(page, 'Test').click();
    await tested;
    const names: [string, string][] = [
      ['', 'Enter a name'],
      ['Clerk', 'There is already an agent with this name'],
    ];
    for (const [text, fault] of names) {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(text);
      await button(page, 'Create').click();
      await page.getByText(fault, { exact: true }).waitFor();
    }
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Second clerk');
    await button(page, 'Create').click();
    await page.getByRole('heading', { name: 'Second clerk' }).waitFor();
    const [made] = (await here.alice.ok(here.alice.get('/api/agents?q=Second'))) as unknown as { provider_id: string }[];
    expect(made).toMatchObject({ name: 'Second clerk', provider_id });
  });
});
