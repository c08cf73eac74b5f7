import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { messageBox, messages, said, say, settled, turn } from '../support/browser/chat.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';

const SENDS_MAIL = 'def send_mail(to: str) -> str:\n    return "sent to " + to\n';

let here: TestInstallation;
let agent_id: string;
let mail: string;
beforeAll(async () => {
  here = await startTestInstallation();
  const tool = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'send_mail', source_code: SENDS_MAIL }));
  mail = tool.name;
  const agent = { name: 'Clerk', custom_tool_ids: [tool.id], approval_tools: [mail] };
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow({ agent })}`))).agent_id;
});
afterAll(() => here?.stop());

const open = (page: Page) => signInAsAlice(page, `${here.url}/dashboard/chat?agent_id=${agent_id}`);
const lastSent = () => here.model.requests.at(-1)!.messages.map(({ content }) => content);
const chooseHow = (page: Page, how: 'steer' | 'enqueue' | 'interrupt') =>
  page.getByLabel('While the turn works').selectOption(how);

/** Starts a turn whose model has begun to answer, and waits until it may end. */
async function working(page: Page, prompt = 'Begin.') {
  const held = Promise.withResolvers<void>();
  here.model.script(says('So far … the end.', { until: held.promise }));
  await open(page);
  await say(page, prompt);
  await said(page, 'So');
  return held;
}

describeInBrowser('a message to a turn that works', () => {
  it('is read at the next step, which the conversation shows', async ({ page }) => {
    const held = await working(page);
    here.model.script(says('With the blue one.'));
    await say(page, 'The blue one.');
    await turn(page, 1).getByText('Waits for the next step, which reads it').waitFor();
    expect(await axe(page)).toEqual([]);
    held.resolve();
    await said(page, 'With the blue one.');
    await turn(page, 1).getByText('Read at step 2').waitFor();
    expect(await turn(page, 1).getByText('The blue one.', { exact: true }).count()).toBe(1);
    expect(lastSent()).toEqual(expect.arrayContaining(['Begin.', 'So far … the end.', 'The blue one.']));
    await page.reload();
    await turn(page, 1).getByText('Read at step 2').waitFor();
  });

  it('can be withdrawn while it waits', async ({ page }) => {
    const held = await working(page);
    await say(page, 'Never mind.');
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await messages(page).getByText('Never mind.').waitFor({ state: 'detached' });
    held.resolve();
    await settled(page);
    await said(page, 'So far … the end.');
    expect(lastSent()).not.toContain('Never mind.');
  });

  it('is the next turn if it is queued', async ({ page }) => {
    const held = await working(page);
    await chooseHow(page, 'enqueue');
    await say(page, 'Afterwards.');
    await turn(page, 2).getByText('Waits for its turn').waitFor();
    here.model.script(says('Then this.'));
    held.resolve();
    await turn(page, 2).getByText('Then this.', { exact: true }).waitFor();
    await turn(page, 1).getByText('So far … the end.', { exact: true }).waitFor();
  });

  it('that is queued can be withdrawn, too', async ({ page }) => {
    const held = await working(page);
    await chooseHow(page, 'enqueue');
    await say(page, 'Not this.');
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByRole('button', { name: 'Withdraw' }).waitFor({ state: 'detached' });
    held.resolve();
    await settled(page);
    expect(lastSent()).not.toContain('Not this.');
  });

  it('stops the turn if it interrupts, and is answered then', async ({ page }) => {
    here.model.script(hangs('A beginning'), says('At once.'));
    await open(page);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    await chooseHow(page, 'interrupt');
    await say(page, 'Stop that.');
    await turn(page, 2).getByText('At once.', { exact: true }).waitFor();
    await turn(page, 1).locator('.chat-foot').getByText('halted', { exact: true }).waitFor();
    await said(page, 'A beginning');
  });

  it('is not taken if the turn is stopped, and the page states the reason', async ({ page }) => {
    here.model.script(hangs('A beginning'));
    await open(page);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    await say(page, 'And this.');
    await page.getByText('Waits for the next step, which reads it').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Not taken', { exact: true }).waitFor();
    await page.getByText('The run was stopped before it read this message').waitFor();
  });

  it('waits with the turn for a decision, which is made in the conversation', async ({ page }) => {
    here.model.script(asks({ name: mail, args: { to: 'ada@example.com' } }), says('Done.'));
    await open(page);
    await say(page, 'Write to her.');
    await page.getByText('Approve the call to').waitFor();
    await say(page, 'And tell me when.');
    await page.getByText('Waits for the next step, which reads it').waitFor();
    expect(await axe(page)).toEqual([]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await said(page, 'Done.');
    await turn(page, 1).getByText('Read at step 2').waitFor();
    await settled(page);
    await page.locator('summary').filter({ hasText: mail }).click();
    await page
      .getByRole('group', { name: `Arguments of ${mail}` })
      .getByText('ada@example.com')
      .waitFor();
    await page
      .getByRole('group', { name: `Result of ${mail}` })
      .getByText('sent to ada@example.com')
      .waitFor();
    expect(await messageBox(page).isEnabled()).toBe(true);
  });
});
