import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { messageBox, said, say, settled, turn } from '../support/browser/chat.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`))).agent_id;
});
afterAll(() => here?.stop());

const open = (page: Page, path = `/chat?agent_id=${agent_id}`) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true });
const attach = (page: Page, name: string, buffer: Buffer) =>
  page.getByLabel('Files to attach').setInputFiles([{ name, mimeType: 'application/octet-stream', buffer }]);

describeInBrowser('the box for the next message', () => {
  it('has the same draft in each tab of its conversation, and none once one of them has sent it', async ({ page, context }) => {
    here.model.script(says('Three.'), says('Five.'));
    await open(page);
    await say(page, 'Begin.');
    await said(page, 'Three.');
    const second = await context.newPage();
    await signInAsAlice(second, page.url());
    await said(second, 'Three.');
    await messageBox(page).fill('Half a mess');
    await expect.poll(() => messageBox(second).inputValue()).toBe('Half a mess');
    await messageBox(second).fill('Half a message.');
    await expect.poll(() => messageBox(page).inputValue()).toBe('Half a message.');
    await messageBox(page).press('Enter');
    await said(page, 'Five.');
    await expect.poll(() => messageBox(second).inputValue()).toBe('');
    expect(await send(second).isDisabled()).toBe(true);
  });

  it('interrupts with one message only', async ({ page }) => {
    here.model.script(hangs('A beginning'), hangs('Another beginning'));
    await open(page);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    const how = page.getByLabel('While the turn works');
    await how.selectOption('interrupt');
    await say(page, 'Stop that.');
    await turn(page, 2).getByText('Another beginning').waitFor();
    expect(
      await turn(page, 1)
        .getByText(/halted/i)
        .count(),
    ).toBe(1);
    expect(await how.inputValue()).toBe('steer');
    await how.selectOption('interrupt');
    await page.getByRole('button', { name: 'Stop' }).click();
    await settled(page);
    here.model.script(hangs('A third'));
    await say(page, 'And now?');
    await turn(page, 3).getByText(/^A th/).waitFor();
    expect(await how.inputValue()).toBe('steer');
  });

  it('takes back a message that the turn did not read', async ({ page }) => {
    here.model.script(hangs('A beginning'));
    await open(page);
    await say(page, 'Talk.');
    await said(page, 'A beginning');
    await say(page, 'And this.');
    await page.getByText('Waits for the next step, which reads it').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Edit and send again' }).click();
    expect(await messageBox(page).inputValue()).toBe('And this.');
    expect(await turn(page, 1).getByText('message refused').count()).toBe(0);
  });

  it('states why a picture alone, or a message to nobody, cannot be sent', async ({ page }) => {
    await page.route(/\/api\/threads\?/, (route) => route.fulfill({ json: [], headers: { 'x-total-count': '0' } }));
    await open(page, '/chat');
    await say(page, 'Who gets it?');
    await page.getByRole('status').getByText('Choose an agent or a workflow first').waitFor();
    await messageBox(page).fill('');
    await page.goto(`${here.url}/dashboard/chat?agent_id=${agent_id}`);
    await attach(page, 'seven.png', Buffer.from(PIXEL, 'base64'));
    await page.getByRole('img', { name: 'seven.png' }).waitFor();
    await page.getByRole('status').getByText('Type a message to send with the files').waitFor();
    expect(await send(page).isDisabled()).toBe(true);
    await messageBox(page).fill('Which colour?');
    await page.getByText('Type a message to send with the files').waitFor({ state: 'detached' });
    expect(await send(page).isEnabled()).toBe(true);
  });

  it('names a file that is refused, and the limit that it exceeds', async ({ page, troubles }) => {
    troubles.allow(/413|422/);
    await open(page);
    await attach(page, 'eleven.bin', Buffer.from('a\u0000b'));
    await page
      .getByRole('alert')
      .getByText(/^eleven\.bin is of no type/)
      .waitFor();
    await attach(page, 'huge.png', Buffer.alloc(25 * 1024 ** 2 + 1));
    await page
      .getByRole('alert')
      .getByText(/^huge\.png: The file is larger than the 25 MiB/)
      .waitFor();
  });
});

describeInBrowser('a turn whose tool runs', () => {
  it('shows so once, and how long it has taken', async ({ page }) => {
    const source_code = 'import time\n\ndef ponder() -> str:\n    time.sleep(600)\n    return "done"\n';
    const tool = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'ponder', source_code }));
    const workflow_id = await here.workflow({ agent: { custom_tool_ids: [tool.id] } });
    const { agent_id: ponders } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    here.model.script(asks({ name: tool.name, args: {} }));
    await open(page, `/chat?agent_id=${ponders}`);
    await say(page, 'Ponder.');
    await turn(page, 1).locator('summary').getByText('running').waitFor();
    await turn(page, 1)
      .getByText(/^3\.\d s$/)
      .waitFor();
    expect(await turn(page, 1).locator('[data-tone="busy"]').count()).toBe(1);
    await page.getByRole('button', { name: 'Stop' }).click();
    await turn(page, 1).locator('[data-tone="busy"]').waitFor({ state: 'detached' });
  });
});
