import { afterEach, expect } from 'vitest';
import { SAMPLE } from '../../src/contracts/sample.ts';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { clicksOn, darken } from '../support/browser/dashboard.ts';
import { awaitCompletion, button, cleanUp, freshInstallation, keep, made, show, signIn } from '../support/browser/first-run.ts';
import { ALICE } from '../support/installation.ts';
import { KEYLESS_MODEL, startKeylessServer } from '../support/peers/keyless-server.ts';
import { asks, says } from '../support/peers/model-server.ts';

afterEach(cleanUp);

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
    await awaitCompletion(page);
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
      show(page);
      await page.goto(`${here.url}/dashboard/`);
      await page.getByLabel('Access token').focus();
      await page.keyboard.type(ALICE);
      await page.keyboard.press('Enter');
      await page.getByLabel('Prompt', { exact: true }).focus();
      await page.keyboard.press('Control+Enter');
      await awaitCompletion(page);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    },
    120_000,
  );
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
    await awaitCompletion(page);
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

  it('runs on a local model server without a key, given only host and port, in at most ten clicks', async ({ page }) => {
    const here = await freshInstallation();
    const server = await startKeylessServer();
    keep(server);
    const clicks = await clicksOn(page);
    await signIn(page, here.url);
    await page.getByRole('link', { name: 'Make your own' }).last().click();
    await page.getByRole('radio', { name: 'Ollama' }).click();
    await page.getByLabel('Address').click();
    await page.getByLabel('Address').fill(server.address);
    await button(page, 'Test').click();
    await page.getByText('Connected: 1 model').waitFor();
    await page.getByLabel('Prompt', { exact: true }).click();
    await page.keyboard.type('Hello there');
    await button(page, 'Create and run').click();
    await awaitCompletion(page);
    expect(clicks()).toBeLessThanOrEqual(10);
    expect(clicks()).toBeGreaterThan(5);
    expect(new Set(server.keys)).toEqual(new Set([undefined]));
    expect(await made(here)).toMatchObject({ tokens: [], providers: ['ollama', SAMPLE.provider] });
    const [provider] = (await here.alice.ok(here.alice.get('/api/providers?q=ollama'))) as unknown as Record<string, string>[];
    expect(provider).toMatchObject({ base_url: `${server.address}/v1`, default_model: KEYLESS_MODEL });
  }, 120_000);
});
