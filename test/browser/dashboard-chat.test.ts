import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { messageBox, said, say, settled, turn } from '../support/browser/chat.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';

const THREAD = /\/chat\/[\w-]{36}$/;

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  const workflow_id = await here.workflow({ agent: { name: 'Clerk' } });
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id;
});
afterAll(() => here?.stop());

const open = (page: Page, path = `/chat?agent_id=${agent_id}`) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const threadOf = (page: Page) => page.url().split('/').at(-1)!;
const beginThread = async () => (await here.alice.ok(here.alice.post('/api/threads', { agent_id }))).id as string;

describeInBrowser('the chat', () => {
  it('begins a thread with its first message, which gives it its title, and continues it', async ({ page }) => {
    await open(page, '/chat');
    await page.getByRole('combobox', { name: 'Agent' }).click();
    await page.getByRole('option', { name: 'Clerk' }).click();
    await messageBox(page).press('Enter');
    await messageBox(page).fill('First');
    await messageBox(page).press('Shift+Enter');
    expect(await messageBox(page).inputValue()).toBe('First\n');
    here.model.script(says('One.', { usage: { prompt_tokens: 103, completion_tokens: 4, total_tokens: 107 } }), says('Two.'));
    await say(page, 'First.');
    await page.waitForURL(THREAD);
    await said(page, 'One.');
    const address = page.url();
    await turn(page, 1).getByText('107 tokens').waitFor();
    await page.getByRole('heading', { level: 1, name: 'First.' }).waitFor();
    await expect.poll(() => page.title()).toBe(`First. · #${address.slice(-4)} · Perdura`);
    await say(page, 'Second.');
    await turn(page, 2).getByText('Two.', { exact: true }).waitFor();
    expect(page.url()).toBe(address);
    const sent = here.model.requests.at(-1)!.messages.map(({ content }) => content);
    expect(sent).toEqual(expect.arrayContaining(['First.', 'One.', 'Second.']));
    await turn(page, 2).getByRole('link', { name: 'Run' }).click();
    await page.waitForURL(/\/tasks\/[\w-]{36}$/);
    await page.getByTestId('transcript').getByText('Two.').waitFor();
  });

  it('has a thread with a workflow, whose settings its turns take', async ({ page }) => {
    const workflow_id = await here.workflow({ workflow: { title: 'Office', remember: 'thread' } });
    await open(page, '/chat');
    await page.getByText('Workflow', { exact: true }).click();
    await page.getByRole('combobox', { name: 'Workflow' }).click();
    await page.getByRole('option', { name: 'Office' }).click();
    here.model.script(says('Here.'));
    await say(page, 'Who?');
    await said(page, 'Here.');
    expect((await here.alice.ok(here.alice.get(`/api/threads/${threadOf(page)}`))).workflow_id).toBe(workflow_id);
  });

  it('is begun from the former address of an agent', async ({ page }) => {
    await open(page, `/agents/${agent_id}/chat`);
    await page.waitForURL(`**/chat?agent_id=${agent_id}`);
    await expect.poll(() => page.getByRole('combobox', { name: 'Agent' }).inputValue()).toBe('Clerk');
  });

  it('keeps a message whose request was lost, and sends it once', async ({ page, troubles }) => {
    troubles.allow(/ERR_FAILED/);
    const thread_id = await beginThread();
    let lost = 0;
    await page.route(/\/messages$/, async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue();
      lost += 1;
      // The service has it, and its answer is lost.
      await route.fetch();
      await route.abort('failed');
    });
    here.model.script(says('Seven.'));
    await open(page, `/chat/${thread_id}`);
    await say(page, 'Lost.');
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await turn(page, 1).getByText('Seven.', { exact: true }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    const turns = await here.alice.ok(here.alice.get(`/api/tasks?thread_id=${thread_id}`));
    expect(turns).toHaveLength(1);
  });

  it('shows why a message was refused, and takes it back into the box', async ({ page, troubles }) => {
    troubles.allow(/422/);
    const rule = { name: 'no lions', guardrail_type: 'prompt', config: { forbidden_patterns: ['lion'] } };
    const { id } = await here.alice.ok(here.alice.post('/api/guardrails', rule));
    const workflow_id = await here.workflow({ workflow: { guardrail_ids: [id], remember: 'thread' } });
    await open(page, `/chat?workflow_id=${workflow_id}`);
    await say(page, 'A lion.');
    await page
      .getByRole('alert')
      .getByText(/no lions/)
      .waitFor();
    await messageBox(page).fill('A mouse.');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    expect(await messageBox(page).inputValue()).toBe('A lion.\n\nA mouse.');
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('keeps the next message, which is typed while one is sent', async ({ page }) => {
    const held = Promise.withResolvers<void>();
    await page.route(/\/messages$/, async (route) => {
      if (route.request().method() === 'POST') await held.promise;
      return route.continue();
    });
    here.model.script(says('Five.'));
    await open(page);
    await say(page, 'Sent.');
    await page.waitForURL(THREAD);
    await page.keyboard.type('The next.');
    held.resolve();
    await said(page, 'Five.');
    expect(await messageBox(page).inputValue()).toBe('The next.');
    await page.reload();
    await said(page, 'Five.');
    expect(await messageBox(page).inputValue()).toBe('The next.');
    await page.getByRole('link', { name: 'New conversation' }).click();
    await page.getByText('No messages yet. Type one below.').waitFor();
    expect(await messageBox(page).inputValue()).toBe('');
  });

  it('can be left while a turn works', async ({ page }) => {
    here.model.script(hangs('A beginning'));
    await open(page);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    await page.getByRole('link', { name: 'Skills', exact: true }).click();
    await page.getByText('No skill yet.').waitFor();
  });

  it('is followed after a reload and in a second tab, which stops the turn', async ({ page, context }) => {
    here.model.script(hangs('A beginning'));
    await open(page);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    await page.reload();
    await said(page, 'Talk.');
    await said(page, 'A beginning');
    const second = await context.newPage();
    await signInAsAlice(second, page.url());
    await said(second, 'A beginning');
    await second.getByRole('button', { name: 'Stop' }).click();
    await settled(second);
    await settled(page);
    await turn(page, 1).locator('.chat-foot').getByText('halted', { exact: true }).waitFor();
    await said(page, 'A beginning');
  });

  it('shows after a reload why a turn failed, and the message that was being typed', async ({ page }) => {
    here.model.script(fails(401, { message: 'the key has expired' }));
    await open(page);
    await say(page, 'Fail.');
    await page
      .getByRole('alert')
      .getByText(/the key has expired/)
      .waitFor();
    await messageBox(page).fill('Half a mess');
    await page.reload();
    await said(page, 'Fail.');
    await page
      .getByRole('alert')
      .getByText(/the key has expired/)
      .waitFor();
    expect(await messageBox(page).inputValue()).toBe('Half a mess');
    here.model.script(says('Better.'));
    await page.getByRole('button', { name: 'Try again' }).click();
    await said(page, 'Better.');
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('shows another person nothing but that the thread is not theirs', async ({ page, troubles }) => {
    troubles.allow(/403/);
    const thread_id = await beginThread();
    await signInAsAlice(page, `${here.url}/dashboard/chat/${thread_id}`, BOB);
    await page.getByText(/It belongs to someone else/).waitFor();
    await page.getByText('No conversations yet.').waitFor();
    expect(await messageBox(page).count()).toBe(0);
  });
});
