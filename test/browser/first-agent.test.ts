import { afterEach, expect } from 'vitest';
import * as z from 'zod';
import { SAMPLE } from '../../src/contracts/sample.ts';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { button, cleanUp, freshInstallation, keep, made, OWN, signIn } from '../support/browser/first-run.ts';
import { startTestInstallation } from '../support/installation.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';

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
