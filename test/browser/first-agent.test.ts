import { afterEach, expect } from 'vitest';
import * as z from 'zod';
import { SAMPLE } from '../../src/contracts/sample.ts';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { button, cleanUp, freshInstallation, keep, made, OWN, signIn } from '../support/browser/first-run.ts';
import { startTestInstallation } from '../support/installation.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { KEYLESS_MODEL, startKeylessServer } from '../support/peers/keyless-server.ts';

afterEach(cleanUp);

describeInBrowser('the page that creates an agent', () => {
  it('is offered if the sample was deleted', async ({ page }) => {
    const here = await startTestInstallation();
    keep(here);
    await signIn(page, here.url);
    await page.getByText('Make your first agent').waitFor();
    await page.getByRole('link', { name: 'Make your own' }).last().click();
    await page.getByRole('heading', { name: 'Make your own' }).waitFor();
    expect(await page.getByText('Demo model', { exact: true }).count()).toBe(0);
  });

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

  it('takes a model of the server that was tested last', async ({ page }) => {
    const here = await freshInstallation();
    const second = await startKeylessServer();
    keep(second);
    await signIn(page, here.url, '/make');
    await page.getByRole('radio', { name: 'Any compatible' }).click();
    const model = page.getByRole('combobox', { name: 'Model' });
    await page.getByLabel('Address').fill(here.model.url);
    await button(page, 'Test').click();
    await expect.poll(() => model.inputValue()).toBe('scripted');
    await page.getByLabel('Address').fill(second.address);
    await button(page, 'Test').click();
    await page.getByText('scripted is not offered there, so the first model is chosen.').waitFor();
    expect(await model.inputValue()).toBe(KEYLESS_MODEL);
    // A model that is typed after the test is not replaced.
    await model.fill('mine');
    expect(await page.getByText('is not offered there').count()).toBe(0);
    expect(await model.inputValue()).toBe('mine');
    // Neither is one that the server offers.
    await model.fill(KEYLESS_MODEL);
    const tested = page.waitForResponse('**/api/providers/test');
    await button(page, 'Test').click();
    await (await tested).finished();
    await page.getByText('Connected: 1 model').waitFor();
    expect(await page.getByText('is not offered there').count()).toBe(0);
    expect(await model.inputValue()).toBe(KEYLESS_MODEL);
  }, 120_000);

  it('takes no model from a test of an address that has been changed meanwhile', async ({ page }) => {
    const here = await freshInstallation();
    const held = Promise.withResolvers<void>();
    await page.route('**/api/providers/test', async (route) => {
      await held.promise;
      return route.continue();
    });
    await signIn(page, here.url, '/make');
    await page.getByRole('radio', { name: 'Any compatible' }).click();
    await page.getByLabel('Address').fill(here.model.url);
    await page.getByRole('combobox', { name: 'Model' }).fill('mine');
    const tested = page.waitForResponse('**/api/providers/test');
    await button(page, 'Test').click();
    await page.getByLabel('Address').fill('http://127.0.0.1:8011/v1');
    held.resolve();
    await (await tested).finished();
    await page.getByRole('radio', { name: 'Ollama' }).click();
    await page.getByRole('radio', { name: 'Any compatible' }).click();
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('mine');
  }, 120_000);

  it('gives the agent imported MCP servers and knowledge, and its workflow guardrails', async ({ page }) => {
    const here = await freshInstallation();
    const make = async (path: string, body: object) => (await here.alice.ok(here.alice.post(`/api/${path}`, body))).id as string;
    const knowledge_source_ids = [await make('knowledge-sources', { name: 'handbook' })];
    const guardrail_ids = [await make('guardrails', { name: 'short', guardrail_type: 'prompt', config: { max_length: 53 } })];
    const { url, stop } = await startHttpMcpServer('mail', () => {});
    await signIn(page, here.url, '/make');
    await button(page, 'Import …').click();
    const dialog = page.getByRole('dialog', { name: 'Import MCP servers' });
    await dialog.getByLabel('mcpServers JSON').fill(JSON.stringify({ mcpServers: { mail: { url }, post: { url } } }));
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await dialog.getByText('2 created').waitFor();
    expect(await made(here)).toEqual(OWN);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    for (const [label, name] of [
      ['Knowledge', 'handbook'],
      ['Guardrails', 'short'],
    ] as const) {
      await page.getByRole('combobox', { name: label }).click();
      await page.getByRole('option', { name }).click();
      await page.keyboard.press('Escape');
    }
    expect(await axe(page)).toEqual([]);
    await button(page, 'Create').click();
    await page.getByRole('heading', { name: 'my-agent' }).waitFor();
    const list = async (path: string) =>
      (await here.alice.ok(here.alice.get(`/api/${path}`))) as unknown as Record<string, unknown>[];
    const servers = (await list('mcps')).map(({ id }) => id);
    const [agent] = await list('agents?q=my-agent');
    const [workflow] = await list('workflows?q=my-agent');
    expect(servers).toHaveLength(2);
    expect(agent).toMatchObject({ knowledge_source_ids, mcp_server_ids: expect.arrayContaining(servers) });
    expect(workflow).toMatchObject({ agent_id: agent!.id, guardrail_ids });
    await stop();
  }, 120_000);

  it('leaves nothing behind if one of the records is refused, and shows the reason', async ({ page, troubles }) => {
    troubles.allow(/409|ERR_FAILED/);
    const here = await freshInstallation();
    // Otherwise the page reads the names again as soon as one is taken.
    await page.route('**/api/changes', (route) => route.abort());
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
    keep(proxy);
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
