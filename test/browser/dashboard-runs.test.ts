import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { chooseMore, signInAsAlice } from '../support/browser/dashboard.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { asks, breaksOff, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const signIn = (page: Page, path = '/', url = here.url) => signInAsAlice(page, `${url}/dashboard${path}`);

async function send(page: Page, prompt: string): Promise<void> {
  await page.getByLabel('Prompt', { exact: true }).fill(prompt);
  await page.keyboard.press('Control+Enter');
}

const transcript = (page: Page) => page.getByTestId('transcript');
const seen = (page: Page, text: string | RegExp) => transcript(page).getByText(text).first().waitFor();
const status = (page: Page, word: string) => page.locator('.run-bar .status').getByText(word, { exact: true }).first().waitFor();

describeInBrowser('signing in to the dashboard', () => {
  it('refuses a wrong token, accepts a valid one, and forgets it when the tab closes', async ({ page, troubles }) => {
    troubles.allow(/401/);
    await page.goto(`${here.url}/dashboard/`);
    await page.getByLabel('Access token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This access token is not valid.').waitFor();
    await page.getByLabel('Access token').fill(ALICE);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.evaluate('[sessionStorage.length, Object.values(localStorage).join()]')).toEqual([
      1,
      expect.not.stringContaining(ALICE),
    ]);
    expect(page.url()).not.toContain(ALICE);
    const another = await page.context().newPage();
    await another.goto(`${here.url}/dashboard/`);
    await another.getByLabel('Access token').waitFor();
  });

  it('shows the next user nothing of the previous one', async ({ page }) => {
    const id = await here.workflow({ workflow: { title: "Alice's own" } });
    await signIn(page, '/workflows');
    await page.getByRole('link', { name: "Alice's own" }).waitFor();
    await page.getByTitle('Signed in as alice (local)').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').fill(BOB);
    await page.keyboard.press('Enter');
    await page.getByText('No workflow yet.').waitFor();
    await page.getByTitle('Signed in as bob (local)').waitFor();
    expect(await page.getByTitle(/alice/).count()).toBe(0);
    expect(await page.getByRole('link', { name: "Alice's own" }).count()).toBe(0);
    await here.alice.del(`/api/workflows/${id}`);
  });

  it('returns to the sign-in page when the service no longer accepts the token', async ({ page, troubles }) => {
    troubles.allow(/401/);
    // This screen does not poll, so no request is refused before the click.
    await signIn(page, '/skills');
    await page.getByText('No skill yet.').waitFor();
    await page.evaluate("sessionStorage.setItem('perdura.access-token', 'revoked')");
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.getByText('Your access token is no longer valid.').waitFor();
  });
});

describeInBrowser('a run in the dashboard', () => {
  it('is started by keyboard alone, including its agent and workflow, and streams its text', async ({ page }) => {
    const values = { name: 'scripted', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
    await here.alice.ok(here.alice.post('/api/providers', values));
    await signIn(page, '/agents');
    await page.getByRole('link', { name: 'New agent' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Name', { exact: false }).first().focus();
    await page.keyboard.type('typist');
    await page.getByRole('combobox', { name: 'Provider' }).focus();
    await page.keyboard.type('scripted');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByLabel('Name', { exact: false }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'New workflow with this agent' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Title').focus();
    await page.keyboard.type('By keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'By keyboard' }).waitFor();

    const goOn = Promise.withResolvers<void>();
    here.model.script(says('one two three four five six seven eight nine ten', { until: goOn.promise }));
    await send(page, 'Count.');
    await page.getByTestId('partial').getByText('one').waitFor();
    expect(await page.getByTestId('partial').innerText()).not.toContain('ten');
    goOn.resolve();
    await seen(page, /eight nine ten/);
    await status(page, 'completed');
    expect(await page.title()).toBe('By keyboard · Perdura');
  });

  it('waits for approval of a tool call and resumes when it is approved', async ({ page }) => {
    const id = await here.workflow({
      tools: ['def pay(amount: int) -> str:\n    print("paying")\n    return f"paid {amount}"\n'],
    });
    const workflow = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
    const agent = await here.alice.ok(here.alice.get(`/api/agents/${workflow.agent_id}`));
    const tool = await here.alice.ok(here.alice.get(`/api/custom-tools/${agent.custom_tool_ids[0]}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent.id}`, { approval_tools: [tool.name] }));
    here.model.script(asks({ name: tool.name, args: { amount: 5 } }), says('It is done.'));
    await signIn(page, `/workflows/${id}`);
    await send(page, 'Pay.');
    await page.getByRole('button', { name: 'Approve' }).click();
    await seen(page, 'It is done.');
    await status(page, 'completed');
    await transcript(page).getByText(tool.name).first().click();
    await seen(page, /paid 5/);
    await seen(page, 'paying');
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.getByRole('option', { name: /^Step 2, scripted completed/ }).waitFor();
  });

  it('can be halted', async ({ page }) => {
    const id = await here.workflow();
    here.model.script(hangs('A beginning'));
    await signIn(page, `/workflows/${id}`);
    await send(page, 'Begin.');
    await seen(page, 'A beginning');
    await page.getByRole('button', { name: 'Halt …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await status(page, 'running');
    await page.getByRole('button', { name: 'Halt …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Halt' }).click();
    await status(page, 'halted');
  });

  it('drops the text of an attempt that broke off', async ({ page }) => {
    const id = await here.workflow();
    here.model.script(breaksOff('A wrong half'), says('The right whole.'));
    await signIn(page, `/workflows/${id}`);
    await send(page, 'Say it.');
    await seen(page, 'The right whole.');
    await status(page, 'completed');
    expect(await transcript(page).innerText()).not.toContain('A wrong half');
  });

  it('resumes without a gap after a broken connection', async ({ page, troubles }) => {
    troubles.allow(/ERR_|Failed to load resource/);
    const proxy = await startDroppingProxy(here.url);
    try {
      const id = await here.workflow();
      const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ');
      here.model.script(says(words, { pause_ms: 60 }));
      await signIn(page, `/workflows/${id}`, proxy.url);
      await send(page, 'Talk.');
      await page.getByTestId('partial').getByText('word3').waitFor();
      proxy.drop();
      await page.locator('[data-connection="reconnecting"]').waitFor();
      await seen(page, words);
      await status(page, 'completed');
      expect((await transcript(page).innerText()).match(/word7\b/g)).toHaveLength(1);
    } finally {
      await proxy.stop();
    }
  });

  it('can be forked from one of its steps', async ({ page }) => {
    const id = await here.workflow();
    here.model.script(says('First.'), says('Second.'));
    const task_id = await here.prompt(id, 'Say.');
    await here.ended(task_id);
    await signIn(page, `/tasks/${task_id}`);
    await chooseMore(page, 'Fork …');
    const dialog = page.getByRole('dialog', { name: 'Fork this run' });
    await dialog.getByLabel('Message before the step').fill('Say otherwise.');
    await dialog.getByRole('button', { name: 'Fork the run' }).click();
    await seen(page, 'Second.');
    expect(page.url()).not.toContain(task_id);
  });
});
