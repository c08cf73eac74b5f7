import type { Page } from 'playwright-core';
import { afterEach, expect } from 'vitest';
import * as z from 'zod';
import { SAMPLE } from '../../src/contracts/sample.ts';
import { startDemoModel } from '../../src/embedded/demo-model.ts';
import { prepareSample } from '../../src/main/wiring/prepare-sample.ts';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { clicksOn, darken } from '../support/browser/dashboard.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { KEYLESS_MODEL, startKeylessServer } from '../support/peers/keyless-server.ts';
import { asks, says } from '../support/peers/model-server.ts';

const open: { stop(): Promise<void> }[] = [];
let shown: Page | undefined;
afterEach(async () => {
  // Requests of the page to a stopped service would count as troubles.
  await shown?.goto('about:blank').catch(() => {});
  for (const here of open.splice(0).reverse()) await here.stop();
});

/** As after the first `npm start`. */
async function freshInstallation(): Promise<TestInstallation> {
  const demo = await startDemoModel({ token_delay_ms: 100 });
  const here = await startTestInstallation();
  open.push(demo, here);
  await prepareSample(here.core, {
    demo_model_url: demo.url,
    owner: { provider: 'local', subject: 'alice', login: 'alice' },
  });
  return here;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const completed = (page: Page) => page.locator('.panel .status').getByText('completed', { exact: true }).first().waitFor();

async function signIn(page: Page, url: string, path = '/'): Promise<void> {
  shown = page;
  await page.goto(`${url}/dashboard${path}`);
  await page.getByLabel('Access token').fill(ALICE);
  await button(page, 'Sign in').click();
  await button(page, 'Sign out').waitFor();
}

/** The names of everything the user created. */
async function made({ alice }: TestInstallation) {
  const names = async (path: string) =>
    ((await alice.ok(alice.get(`/api/${path}`))) as unknown as Record<string, string>[]).map(({ name, title }) => name ?? title);
  return {
    tokens: await names('tokens'),
    providers: await names('providers'),
    agents: await names('agents'),
    workflows: await names('workflows'),
  };
}

const OWN = { providers: [SAMPLE.provider], agents: [SAMPLE.agent], workflows: [SAMPLE.workflow], tokens: [] };

describeInBrowser('the first run', () => {
  it('takes at most four clicks, is followed live, and links to creating an agent', async ({ page }) => {
    const here = await freshInstallation();
    const clicks = await clicksOn(page);
    await signIn(page, here.url);
    expect(await page.getByLabel('Prompt', { exact: true }).inputValue()).toBe(SAMPLE.prompt);
    expect(await axe(page)).toEqual([]);
    await button(page, 'Run').click();
    await page.getByTestId('partial').waitFor();
    await page.getByRole('article', { name: 'Reply' }).getByText('"words": 6').waitFor();
    await completed(page);
    expect(clicks()).toBeLessThanOrEqual(4);
    expect(clicks()).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'Make your own' }).last().waitFor();
    expect(await axe(page)).toEqual([]);
    await darken(page);
    expect(await axe(page)).toEqual([]);

    await page.reload();
    await page.getByRole('table').getByText(SAMPLE.prompt).waitFor();
    expect(await page.getByText('Your first run').count()).toBe(0);
  }, 120_000);

  long(
    'works by keyboard and fits a phone',
    async ({ page }) => {
      const here = await freshInstallation();
      await page.setViewportSize({ width: 390, height: 800 });
      shown = page;
      await page.goto(`${here.url}/dashboard/`);
      await page.getByLabel('Access token').focus();
      await page.keyboard.type(ALICE);
      await page.keyboard.press('Enter');
      await page.getByLabel('Prompt', { exact: true }).focus();
      await page.keyboard.press('Control+Enter');
      await completed(page);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    },
    120_000,
  );

  it('offers to create an agent if the sample was deleted', async ({ page }) => {
    const here = await startTestInstallation();
    open.push(here);
    await signIn(page, here.url);
    await page.getByText('Make your first agent').waitFor();
    await page.getByRole('link', { name: 'Make your own' }).last().click();
    await page.getByRole('heading', { name: 'Make your own' }).waitFor();
    expect(await page.getByText('Demo model', { exact: true }).count()).toBe(0);
  });
});

describeInBrowser('the page that creates an agent', () => {
  it('takes at most twelve clicks, with a key, a tool, instructions and a prompt', async ({ page }) => {
    const here = await freshInstallation();
    here.model.script(asks({ name: SAMPLE.tool, args: { text: 'one two three' } }), says('Three words.'));
    const clicks = await clicksOn(page);
    await signIn(page, here.url);
    await page.getByRole('link', { name: 'Make your own' }).last().click();
    await page.getByRole('radio', { name: 'Any compatible' }).click();
    await page.getByLabel('Address').click();
    await page.keyboard.type(here.model.url);
    await page.getByLabel('API key').click();
    await page.keyboard.type('sk-of-alice');
    await button(page, 'Test').click();
    await page.getByText('Connected: 1 model').waitFor();
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('scripted');
    await page.getByRole('combobox', { name: 'Custom tools' }).click();
    await page.getByRole('option', { name: SAMPLE.tool }).click();
    await page.getByRole('textbox', { name: 'Instructions' }).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('You count.');
    await page.getByLabel('Prompt', { exact: true }).click();
    await page.keyboard.type('How many words are "one two three"?');
    expect(await axe(page)).toEqual([]);
    await button(page, 'Create and run').click();
    await page.getByTestId('transcript').getByText('Three words.').waitFor();
    await completed(page);
    expect(clicks()).toBeLessThanOrEqual(12);
    expect(clicks()).toBeGreaterThan(8);

    expect(here.model.requests.map(({ authorization }) => authorization)).toEqual(['Bearer sk-of-alice', 'Bearer sk-of-alice']);
    expect(here.model.requests[0]!.messages[0]).toMatchObject({ content: expect.stringContaining('You count.') });
    expect(await made(here)).toEqual({
      tokens: ['compatible-key'],
      providers: ['compatible', SAMPLE.provider],
      agents: ['my-agent', SAMPLE.agent],
      workflows: ['my-agent', SAMPLE.workflow],
    });
  }, 120_000);

  it('takes a prompt of an MCP server that was chosen for the agent', async ({ page }) => {
    const here = await freshInstallation();
    const { url, stop } = await startHttpMcpServer('prompts', (mcp) => {
      mcp.registerPrompt('review', { title: 'Review', argsSchema: { language: z.string() } }, ({ language }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Review my ${language}.` } }],
      }));
    });
    await here.alice.ok(here.alice.post('/api/mcps', { name: 'prompts', transport_type: 'http', connection_config: { url } }));
    await signIn(page, here.url);
    await page.getByRole('link', { name: 'Make your own' }).last().click();
    await page.getByRole('combobox', { name: 'MCP servers' }).click();
    await page.getByRole('option', { name: 'prompts' }).click();
    await page.keyboard.press('Escape');
    await button(page, 'Take a prompt of an MCP server …').click();
    const dialog = page.getByRole('dialog', { name: 'Prompts of MCP servers' });
    await dialog.getByLabel('MCP server').selectOption('prompts');
    await dialog.getByLabel('Prompt').selectOption('Review');
    await dialog.getByRole('textbox', { name: 'language' }).fill('COBOL');
    expect(await axe(page)).toEqual([]);
    await button(page, 'Use this prompt').click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.getByLabel('Prompt', { exact: true }).inputValue()).toBe('Review my COBOL.');
    await stop();
  }, 120_000);

  long(
    'runs on a local model server without a key, given only host and port',
    async ({ page }) => {
      const here = await freshInstallation();
      const server = await startKeylessServer();
      open.push(server);
      await signIn(page, here.url, '/make');
      await page.getByRole('radio', { name: 'Ollama' }).click();
      await page.getByLabel('Address').fill(server.address);
      await button(page, 'Test').click();
      await page.getByText('Connected: 1 model').waitFor();
      await page.getByLabel('Prompt', { exact: true }).fill('Hello there');
      await button(page, 'Create and run').click();
      await completed(page);
      expect(new Set(server.keys)).toEqual(new Set([undefined]));
      expect(await made(here)).toMatchObject({ tokens: [], providers: ['ollama', SAMPLE.provider] });
      const [provider] = (await here.alice.ok(here.alice.get('/api/providers?q=ollama'))) as unknown as Record<string, string>[];
      expect(provider).toMatchObject({ base_url: `${server.address}/v1`, default_model: KEYLESS_MODEL });
    },
    120_000,
  );

  it('leaves nothing behind if one of the records is refused, and shows the reason', async ({ page, troubles }) => {
    troubles.allow(/409/);
    const here = await freshInstallation();
    await signIn(page, here.url, '/make');
    await page.getByRole('radio', { name: 'OpenAI', exact: true }).click();
    await button(page, 'Create').click();
    await page.getByText('Enter the API key').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('password');
    await page.getByLabel('API key').fill('sk-never-used');
    // Taken only after the page has read the names.
    await here.alice.ok(here.alice.post('/api/agents', { name: 'my-agent' }));
    await button(page, 'Create').click();
    await page.getByRole('alert').getByText('There is already an agent with this name').waitFor();
    expect(await made(here)).toEqual({ ...OWN, agents: ['my-agent', SAMPLE.agent] });

    await page.getByLabel('Name').fill('another');
    await button(page, 'Create').click();
    await page.getByRole('heading', { name: 'another' }).waitFor();
    expect(await made(here)).toMatchObject({ providers: ['openai', SAMPLE.provider], tokens: ['openai-key'] });
  }, 120_000);

  it('deletes what a lost connection left behind on the next attempt', async ({ page, troubles }) => {
    troubles.allow(/ERR_|Failed to load/);
    const here = await freshInstallation();
    const proxy = await startDroppingProxy(here.url);
    open.push(proxy);
    await signIn(page, proxy.url, '/make');
    await page.getByRole('radio', { name: 'OpenAI', exact: true }).click();
    await page.getByLabel('API key').fill('sk-never-used');
    // The provider is created, but the response is lost.
    let lost = 0;
    await page.route('**/api/providers', async (route) => {
      if (route.request().method() !== 'POST' || lost++ > 1) return route.fallback();
      await route.fetch();
      await route.abort('connectionreset');
    });
    await button(page, 'Create').click();
    await page.getByText('could not be deleted. Trying again deletes them first').waitFor();
    expect(await made(here)).toMatchObject({ providers: ['openai', SAMPLE.provider], tokens: ['openai-key'] });

    await button(page, 'Create').click();
    await page.getByRole('heading', { name: 'my-agent' }).waitFor();
    const { providers, tokens } = await made(here);
    expect([providers.length, tokens.length]).toEqual([2, 1]);
  }, 120_000);
});
