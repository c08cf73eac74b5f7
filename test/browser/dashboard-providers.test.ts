import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { chooseModel, getToday } from '../../src/domain/known-models.ts';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice, unfold } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openaiAt, outOfQuota, providerOf } from '../support/runs/fallbacks.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const field = (page: Page, name: string) => page.getByRole('textbox', { name });

describeInBrowser('a provider', () => {
  it('shows the context windows of its models once it is tested', async ({ page }) => {
    const values = { name: 'sized', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
    const { id } = await here.alice.ok(here.alice.post('/api/providers', values));
    here.model.describe({ max_model_len: 4_096 });
    here.model.script(says('Yes.'));
    await signInAsAlice(page, `${here.url}/dashboard/providers/${id}`);
    await page.getByRole('button', { name: 'Test the provider' }).click();
    await page.getByText('scripted: context window of 4,096 tokens, as the endpoint says').waitFor();
  });
});

describeInBrowser('a new provider', () => {
  it('is filled in for a vendor, and keeps what was typed', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/providers/new`);
    const vendor = page.getByLabel('Vendor');
    await vendor.locator('option', { hasText: 'Mistral' }).waitFor({ state: 'attached' });
    await vendor.selectOption('Mistral');
    await page.getByText('Ids of tool calls must be nine letters or digits').waitFor();
    expect(await field(page, 'Name').inputValue()).toBe('Mistral');
    expect(await field(page, 'Base URL').inputValue()).toBe('https://api.mistral.ai/v1');
    await field(page, 'Name').fill('ours');
    await vendor.selectOption('Anthropic');
    expect(await field(page, 'Base URL').inputValue()).toBe('');
    expect(await page.getByLabel('Provider type').inputValue()).toBe('anthropic_messages');
    await vendor.selectOption('Ollama');
    await page.getByText('Needs no key.', { exact: true }).waitFor();
    await vendor.selectOption('OpenRouter');
    expect(await field(page, 'Default model').inputValue()).toBe(`openai/${chooseModel('openai', getToday())}`);
    await field(page, 'Default model').fill('our-model');
    await vendor.selectOption('Another endpoint');
    await vendor.selectOption('OpenRouter');
    await page.getByRole('button', { name: 'Create provider' }).click();
    await page.getByRole('heading', { name: 'ours' }).waitFor();
    const [made] = (await here.alice.ok(here.alice.get('/api/providers'))) as unknown as object[];
    expect(made).toMatchObject({
      ...{ name: 'ours', provider_type: 'openai_compatible', base_url: 'https://openrouter.ai/api/v1' },
      default_model: 'our-model',
    });
  });
});

describeInBrowser('fallbacks', () => {
  it('are added to an agent one by one, and taken away again', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/agents/new`);
    await field(page, 'Name').fill('falls back');
    await unfold(page, 'If the model fails');
    const fallbacks = page.getByRole('group', { name: 'Fallbacks' });
    await fallbacks.getByRole('button', { name: 'Add one' }).click();
    await fallbacks.getByRole('combobox', { name: 'After these failures' }).fill('quota');
    await page.keyboard.press('Enter');
    await fallbacks.getByRole('textbox', { name: 'Model' }).fill('smaller');
    await fallbacks.getByRole('button', { name: 'Add another' }).click();
    await fallbacks.getByRole('button', { name: 'Remove 2' }).click();
    await field(page, 'Minutes with a fallback').fill('19');
    // The docs open above the form, which keeps what was typed.
    await page.getByRole('button', { name: 'Help: If the model fails' }).click();
    const help = page.getByRole('dialog', { name: 'Help: If the model fails' });
    await help.getByRole('heading', { name: 'Fallbacks', exact: true }).waitFor();
    await help.getByRole('heading', { name: 'Fallbacks', exact: true }).click();
    await help.getByRole('link', { name: 'catalogue of models' }).click();
    await help.getByRole('heading', { name: 'Models, prices and ends' }).waitFor();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Create agent' }).click();
    await page.getByRole('heading', { name: 'falls back' }).waitFor();
    const made = (await here.alice.ok(here.alice.get('/api/agents?q=falls'))) as unknown as object[];
    expect(made).toMatchObject([{ fallbacks: [{ on: ['quota'], provider_id: null, model: 'smaller' }], fallback_minutes: 19 }]);
  });

  it('are named at the step that they answered, with the reason', async ({ page }) => {
    const provider_id = await providerOf(here.alice, openaiAt(here.model.url, { name: 'first of two' }));
    const spare = await providerOf(here.alice, openaiAt(here.model.url, { name: 'second of two', default_model: 'spare' }));
    const fallbacks = [{ on: ['quota'], provider_id: spare }];
    here.model.script(outOfQuota, says('From the second.'));
    const task_id = await here.prompt(await here.workflow({ agent: { provider_id, model: null, fallbacks } }));
    expect(await here.ended(task_id)).toMatchObject({ response: 'From the second.' });
    await signInAsAlice(page, `${here.url}/dashboard/tasks/${task_id}?view=steps&step=1`);
    await page.getByText('second of two (fallback 1)').waitFor();
    await page.getByText('quota_exhausted').first().waitFor();
  });
});
