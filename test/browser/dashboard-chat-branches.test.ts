import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { messages, said, say, settled, turn } from '../support/browser/chat.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`))).agent_id;
});
afterAll(() => here?.stop());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const lastSent = () => here.model.requests.at(-1)!.messages.map(({ content }) => content);
const gone = (page: Page, text: string) => messages(page).getByText(text, { exact: true }).waitFor({ state: 'detached' });

/** Has a conversation of two turns. */
async function twoTurns(page: Page): Promise<void> {
  here.model.script(says('Red.'), says('Small.'));
  await signInAsAlice(page, `${here.url}/dashboard/chat?agent_id=${agent_id}`);
  await say(page, 'Which colour?');
  await said(page, 'Red.');
  await settled(page);
  await say(page, 'Which size?');
  await said(page, 'Small.');
  await settled(page);
}

describeInBrowser('the versions of a turn', () => {
  it('are made by another answer, and each leads back to the one before', async ({ page }) => {
    await twoTurns(page);
    here.model.script(says('Large.'));
    await turn(page, 2).getByRole('button', { name: 'Regenerate' }).click();
    await said(page, 'Large.');
    await settled(page);
    await gone(page, 'Small.');
    const versions = turn(page, 2).getByRole('group', { name: 'Versions of this turn' });
    await versions.getByText('2/2').waitFor();
    expect(lastSent()).toEqual(expect.arrayContaining(['Which colour?', 'Red.', 'Which size?']));
    expect(lastSent()).not.toContain('Small.');
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Previous version').click();
    await said(page, 'Small.');
    await versions.getByText('1/2').waitFor();
    here.model.script(says('Seven.'));
    await say(page, 'How many?');
    await said(page, 'Seven.');
    expect(lastSent()).toContain('Small.');
    expect(lastSent()).not.toContain('Large.');
  });

  it('are made by another message, each with what was said after it', async ({ page }) => {
    await twoTurns(page);
    await turn(page, 1).getByRole('button', { name: 'Edit your message' }).click();
    const edited = page.getByRole('textbox', { name: 'Edit your message' });
    expect(await edited.inputValue()).toBe('Which colour?');
    await edited.press('Escape');
    await turn(page, 1).getByRole('button', { name: 'Edit your message' }).click();
    await edited.fill('Which shape?');
    here.model.script(says('Round.'));
    await edited.press('Enter');
    await said(page, 'Round.');
    await gone(page, 'Small.');
    expect(lastSent()).toContain('Which shape?');
    expect(lastSent()).not.toContain('Which colour?');
    await settled(page);
    await page.reload();
    await said(page, 'Round.');
    await button(page, 'Previous version').click();
    await said(page, 'Which colour?');
    await said(page, 'Small.');
    await button(page, 'Next version').click();
    await said(page, 'Round.');
  });
});
