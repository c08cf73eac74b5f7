import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it, long } from '../support/browser/browser.ts';
import { messageBox, messages, said, say, settled, turn } from '../support/browser/chat.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** More than fits on the screen. */
const LONG = Array.from({ length: 80 }, (_, index) => `${index + 1}. line`).join('\n');

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`))).agent_id;
});
afterAll(() => here?.stop());

const open = (page: Page) => signInAsAlice(page, `${here.url}/dashboard/chat?agent_id=${agent_id}`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Copies a picture of one pixel, and a text if one is given, and pastes with the keyboard into the box for the message. */
async function paste(page: Page, text?: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob('${PIXEL}'), (letter) => letter.charCodeAt(0));
    const parts = { 'image/png': new Blob([bytes], { type: 'image/png' }) };
    const text = ${JSON.stringify(text ?? null)};
    if (text !== null) parts['text/plain'] = new Blob([text], { type: 'text/plain' });
    await navigator.clipboard.write([new ClipboardItem(parts)]);
  })()`);
  await messageBox(page).focus();
  await page.keyboard.press('ControlOrMeta+V');
}

/** Drags files of this machine over the conversation, as the browser gets them from a file manager. */
async function drag(page: Page, files: string[]) {
  const devtools = await page.context().newCDPSession(page);
  const box = (await messages(page).boundingBox())!;
  const move = (type: 'dragEnter' | 'dragOver' | 'drop', x = box.x + 20) =>
    devtools.send('Input.dispatchDragEvent', { type, x, y: box.y + 20, data: { items: [], files, dragOperationsMask: 1 } });
  await move('dragEnter');
  await move('dragOver');
  /** Moves on to the menu at the left edge of the window. */
  const moveAway = () => move('dragOver', 5);
  return { moveAway, drop: () => move('drop') };
}

describeInBrowser('a conversation', () => {
  it('takes files that are chosen, pasted or dropped, and shows its pictures', async ({ page }) => {
    await open(page);
    const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('forty-one') };
    await page.getByLabel('Files to attach').setInputFiles([notes]);
    await button(page, 'Remove notes.txt').waitFor();
    await paste(page);
    await button(page, 'Remove image.png').waitFor();
    const folder = await mkdtemp(join(tmpdir(), 'dropped-'));
    const [picture, plan] = [join(folder, 'dropped.png'), join(folder, 'plan.txt')];
    await Promise.all([writeFile(picture, Buffer.from(PIXEL, 'base64')), writeFile(plan, 'seventeen')]);
    const marked = page.locator('[data-dropping="true"]');
    const held = await drag(page, [picture]);
    await marked.waitFor();
    await held.moveAway();
    await marked.waitFor({ state: 'detached' });
    await (await drag(page, [picture, plan])).drop();
    await button(page, 'Remove dropped.png').waitFor();
    await button(page, 'Remove plan.txt').waitFor();
    await rm(folder, { recursive: true });
    await button(page, 'Remove image.png').click();
    here.model.script(says('Seen.'));
    await say(page, 'What is this?');
    await said(page, 'Seen.');
    await turn(page, 1).getByRole('img', { name: 'dropped.png' }).waitFor();
    expect(await page.getByRole('img', { name: 'image.png' }).count()).toBe(0);
    await turn(page, 1).getByRole('button', { name: 'Download notes.txt' }).waitFor();
    const asked = JSON.stringify(here.model.requests.at(-1)?.messages);
    expect(asked).toContain('forty-one');
    expect(asked).toContain('seventeen');
    expect(asked.split('data:image/png').length - 1).toBe(1);
    await button(page, 'Remove dropped.png').waitFor({ state: 'detached' });
  });

  it('takes the text of a copied table, not the picture of it', async ({ page }) => {
    await open(page);
    await paste(page, '17 and 19');
    await expect.poll(() => messageBox(page).inputValue()).toBe('17 and 19');
    here.model.script(says('Primes.'));
    await messageBox(page).press('Enter');
    await said(page, 'Primes.');
    expect(here.model.requests.at(-1)!.messages.at(-1)).toEqual({ role: 'user', content: '17 and 19' });
  });

  it('keeps its end in sight until the reader scrolls up, and leads back to it', async ({ page }) => {
    const held = Promise.withResolvers<void>();
    await open(page);
    here.model.script(says(LONG));
    await say(page, 'Count.');
    await messages(page).getByText('line').nth(79).waitFor();
    await settled(page);
    const isAtEnd = () => page.evaluate('document.documentElement.scrollHeight - innerHeight - scrollY <= 4');
    await expect.poll(isAtEnd).toBe(true);
    here.model.script(says(`begin\n\n${LONG}`, { until: held.promise }));
    await say(page, 'Again.');
    await turn(page, 2).getByText('begin').waitFor();
    await page.mouse.move(640, 300);
    await page.mouse.wheel(0, -500);
    await button(page, 'To the newest').waitFor();
    const before = await page.evaluate('scrollY');
    held.resolve();
    await settled(page);
    await turn(page, 2).getByText('line').nth(79).waitFor();
    expect(await page.evaluate('scrollY')).toBe(before);
    await button(page, 'To the newest').click();
    await expect.poll(isAtEnd).toBe(true);
    await button(page, 'To the newest').waitFor({ state: 'detached' });
  });

  long(
    'reads earlier turns as the reader comes to them',
    async ({ page }) => {
      const thread_id = (await here.alice.ok(here.alice.post('/api/threads', { agent_id }))).id;
      const send = (number: number) =>
        here.alice.ok(here.alice.post(`/api/threads/${thread_id}/messages`, { message: `No. ${number}` }));
      here.model.always(says('Noted.'));
      // One more than are read at once.
      for (let number = 1; number <= 50; number += 1) await send(number);
      await here.ended((await send(51)).id, 120_000);
      await signInAsAlice(page, `${here.url}/dashboard/chat/${thread_id}`);
      await said(page, 'No. 51');
      expect(await messages(page).getByText('No. 1', { exact: true }).count()).toBe(0);
      await page.mouse.move(640, 300);
      await expect
        .poll(async () => {
          await page.mouse.wheel(0, -3000);
          return messages(page).getByText('No. 1', { exact: true }).count();
        })
        .toBe(1);
    },
    180_000,
  );

  it('has each message, answer and block of code copied by a button', async ({ page, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    here.model.script(says('Run **this**:\n\n```sh\nls -l\n```\n'));
    await open(page);
    await say(page, 'How do I list files?');
    await said(page, 'ls -l');
    await settled(page);
    const copied = async (name: string) => {
      await button(page, name).click();
      return page.evaluate('navigator.clipboard.readText()');
    };
    expect(await copied('Copy your message')).toBe('How do I list files?');
    expect(await copied('Copy the code')).toBe('ls -l\n');
    expect(await copied('Copy the answer')).toBe('Run **this**:\n\n```sh\nls -l\n```\n');
    expect(await copied('Copy link')).toBe(page.url());
  });
});
