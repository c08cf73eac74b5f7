import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const open = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const text = (name: string, content: string, mimeType = 'text/plain') => ({ name, mimeType, buffer: Buffer.from(content) });

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Pastes a picture as a screenshot program leaves it, with a text next to it if there is one. */
async function paste(page: Page, name: string, words = ''): Promise<void> {
  await page.getByLabel('Prompt', { exact: true }).focus();
  await page.evaluate(`
    const clipboardData = new DataTransfer();
    const bytes = Uint8Array.from(atob('${PIXEL}'), (letter) => letter.charCodeAt(0));
    clipboardData.items.add(new File([bytes], '${name}', { type: 'image/png' }));
    if ('${words}') clipboardData.setData('text/plain', '${words}');
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
  `);
}

describeInBrowser('the files of a prompt', () => {
  it('are chosen or pasted, and the run is given those that were not removed', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(says('Seen.'));
    await open(page, `/workflows/${workflow_id}`);
    // Browsers take .ts for a video.
    const chosen = [text('answer.ts', 'export const answer = 42;', 'video/mp2t'), text('not this.csv', 'secret,1')];
    await page.getByLabel('Files to attach').setInputFiles(chosen);
    await button(page, 'Remove not this.csv').click();
    await paste(page, 'image.png');
    await button(page, 'Remove image.png').waitFor();
    expect(await axe(page)).toEqual([]);
    await page.getByLabel('Prompt', { exact: true }).fill('What is this?');
    await button(page, 'Send').click();
    await page.getByTestId('transcript').getByText('Seen.').waitFor();
    const asked = JSON.stringify(here.model.requests.at(-1)?.messages);
    expect(asked).toContain('answer = 42');
    expect(asked).toContain('data:image/png');
    expect(asked).not.toContain('secret');
    await button(page, 'Remove answer.ts').waitFor({ state: 'detached' });
  });

  it('that are refused are named at once, and the others stay', async ({ page, troubles }) => {
    troubles.allow(/422/);
    await open(page, `/workflows/${await here.workflow()}`);
    await page
      .getByLabel('Files to attach')
      .setInputFiles([
        text('odd.bin', 'a\u0000b'),
        text('odd.bin', 'c\u0000d'),
        text('empty.txt', ''),
        text('fine.md', '# Fine'),
      ]);
    await page.getByRole('alert').getByText('odd.bin is of no type').waitFor();
    await page.getByRole('alert').getByText('empty.txt is empty').waitFor();
    await button(page, 'Remove fine.md').waitFor();
    expect(await page.getByRole('alert').count()).toBe(2);
  });

  it('are not taken from a copied text that brings a picture of itself', async ({ page }) => {
    await open(page, `/workflows/${await here.workflow()}`);
    await paste(page, 'table.png', 'a copied table');
    await paste(page, 'image.png');
    await button(page, 'Remove image.png').waitFor();
    expect(await button(page, 'Remove table.png').count()).toBe(0);
  });

  it('are asked about before the page is left', async ({ page }) => {
    await open(page, `/workflows/${await here.workflow()}`);
    await page.getByLabel('Files to attach').setInputFiles([text('notes.txt', 'Notes.')]);
    await button(page, 'Remove notes.txt').waitFor();
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
  });

  it('can be downloaded from the page of the run, and one that is gone is a failure in words', async ({ page, troubles }) => {
    const content = 'Notes with an ü.';
    const data = `data:text/plain;base64,${Buffer.from(content).toString('base64')}`;
    here.model.script(says('Read.'));
    const task_id = await here.prompt(await here.workflow(), 'Read.', { attachments: [{ name: 'notes.txt', data }] });
    const { attachments } = await here.ended(task_id);
    await open(page, `/tasks/${task_id}`);
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download notes.txt').click()]);
    expect(download.suggestedFilename()).toBe('notes.txt');
    expect(await readFile(await download.path(), 'utf8')).toBe(content);
    expect(await axe(page)).toEqual([]);

    troubles.allow(/404/);
    await here.core.database.pool.query('DELETE FROM task_attachments WHERE attachment_id = $1', [attachments[0].id]);
    await here.alice.ok(here.alice.del(`/api/attachments/${attachments[0].id}`));
    await button(page, 'Download notes.txt').click();
    await page.getByRole('alert').getByText(attachments[0].id).waitFor();
  });
});

describeInBrowser('the files that a tool returned', () => {
  it('are shown with its call, pictures as pictures, and can be downloaded', async ({ page }) => {
    const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "run"</script></svg>');
    const peer = await startHttpMcpServer('camera', (mcp) => {
      mcp.registerTool('shoot', {}, async () => ({
        content: [
          { type: 'image', data: PIXEL, mimeType: 'image/png' },
          { type: 'audio', data: Buffer.from('RIFF....WAVEfmt ').toString('base64'), mimeType: 'audio/wav' },
          { type: 'image', data: drawing.toString('base64'), mimeType: 'image/svg+xml' },
        ],
      }));
    });
    const values = { name: 'camera', transport_type: 'http', connection_config: { url: peer.url } };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', values));
    here.model.script(asks({ name: 'shoot' }), says('Seen.'));
    const task_id = await here.prompt(await here.workflow({ agent: { mcp_server_ids: [id] } }));
    await here.ended(task_id);
    await peer.stop();
    await open(page, `/tasks/${task_id}`);
    const call = page.getByTestId('transcript').locator('details.call');
    await call.locator('summary').click();
    const picture = call.getByRole('img', { name: 'image-1.png' });
    await picture.waitFor();
    expect(await picture.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)).toBe(1);
    expect(await call.locator('audio').count()).toBe(1);
    expect(await call.getByRole('img').count()).toBe(1);
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download image-3.svg').click()]);
    expect(await readFile(await download.path(), 'utf8')).toBe(drawing.toString());
    expect(await page.title()).not.toBe('run');
    expect(await axe(page)).toEqual([]);
  });
});
