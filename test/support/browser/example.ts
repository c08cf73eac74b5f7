import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { startTestInstallation } from '../installation.ts';
import { openaiAt, providerOf } from '../runs/fallbacks.ts';

const EXAMPLES = new URL('../../../examples/', import.meta.url).pathname;
const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';

/** Builds a page of the examples and starts its server, with an agent that has one tool, which needs approval. */
export async function startExample(name: string) {
  const here = await startTestInstallation();
  const folder = await mkdtemp(join(tmpdir(), `perdura-${name}-`));
  const example = join(EXAMPLES, name);
  await build({ root: example, configFile: join(example, 'vite.config.mjs'), build: { outDir: folder }, logLevel: 'error' });
  const tool = here.unique('add').replaceAll(/\W/g, '_');
  const source_code = ADD.replace('add', tool);
  const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', { name: tool, source_code }), 201);
  const provider_id = await providerOf(here.alice, openaiAt(here.model.url));
  const agent = await here.agent({ provider_id, custom_tool_ids: [id], approval_tools: [tool] });
  const port = await findPort();
  const env = {
    PERDURA_URL: here.url,
    PERDURA_TOKEN: here.people.alice.token,
    PERDURA_AGENT: agent,
    PORT: String(port),
    DIST: folder,
  };
  const server = spawn(process.execPath, [join(EXAMPLES, 'chat-react/server.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(server.stdout, 'data');
  return {
    here,
    tool,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.kill();
      await here.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function findPort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Waits until the page shows this text among its messages. */
export const shows = (page: Page, text: string) =>
  page.getByRole('list', { name: 'Messages' }).getByText(text, { exact: true }).waitFor();

export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}
