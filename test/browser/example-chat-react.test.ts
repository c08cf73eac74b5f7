import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { openaiAt, providerOf } from '../support/runs/fallbacks.ts';

const EXAMPLE = new URL('../../examples/chat-react/', import.meta.url).pathname;
const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';

let here: TestInstallation;
let folder: string;
let server: ChildProcess;
let url: string;
let tool: string;

async function findPort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

beforeAll(async () => {
  here = await startTestInstallation();
  folder = await mkdtemp(join(tmpdir(), 'perdura-chat-react-'));
  await build({ root: EXAMPLE, configFile: join(EXAMPLE, 'vite.config.mjs'), build: { outDir: folder }, logLevel: 'error' });
  tool = here.unique('add').replaceAll(/\W/g, '_');
  const source_code = ADD.replace('add', tool);
  const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', { name: tool, source_code }), 201);
  const provider_id = await providerOf(here.alice, openaiAt(here.model.url));
  const agent = await here.agent({ provider_id, custom_tool_ids: [id], approval_tools: [tool] });
  const port = await findPort();
  url = `http://127.0.0.1:${port}`;
  const env = {
    PERDURA_URL: here.url,
    PERDURA_TOKEN: here.people.alice.token,
    PERDURA_AGENT: agent,
    PORT: String(port),
    DIST: folder,
  };
  server = spawn(process.execPath, [join(EXAMPLE, 'server.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout!, 'data');
}, 120_000);
afterAll(async () => {
  server?.kill();
  await here?.stop();
  await rm(folder, { recursive: true, force: true });
});

const shows = (page: Page, text: string) =>
  page.getByRole('list', { name: 'Messages' }).getByText(text, { exact: true }).waitFor();
async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

describeInBrowser('examples/chat-react', () => {
  it('shows an answer whole when its page is loaded again in the middle of it', async ({ page, troubles }) => {
    // A page that is left aborts its requests.
    troubles.allow(/ERR_ABORTED/);
    let finish = () => {};
    const until = new Promise<void>((resolve) => (finish = resolve));
    here.model.script(says('One two three four.', { until }), says('Five.'));
    await page.goto(url);
    await say(page, 'Count.');
    await shows(page, 'One');
    await page.reload();
    await shows(page, 'One');
    finish();
    await shows(page, 'One two three four.');
    await say(page, 'And then?');
    await shows(page, 'Five.');
    const lines = here.model.requests
      .at(-1)!
      .messages.slice(1)
      .map(({ content }) => content);
    expect(lines).toEqual(['Count.', 'One two three four.', 'And then?']);
    expect(await page.locator('li').count()).toBe(4);
  });

  it('asks before a tool is called, also after it was loaded again', async ({ page, troubles }) => {
    troubles.allow(/ERR_ABORTED/);
    here.model.script(asks({ name: tool, args: { a: 17, b: 25 }, text: 'I add.' }), says('It is 42.'));
    await page.goto(url);
    await say(page, 'What is 17 + 25?');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'It is 42.');
    await shows(page, '{"result":42}');
  });
});
