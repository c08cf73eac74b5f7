import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { openaiAt, providerOf } from '../support/runs/fallbacks.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const read = (path: string) => here.alice.ok(here.alice.get(`/api/${path}`));

/** A workflow whose model has no price at its provider. */
async function unpricedWorkflow() {
  const name = here.unique('gateway');
  const provider_id = await providerOf(here.alice, openaiAt(here.model.url, { name }));
  const title = here.unique('Office');
  const id = await here.workflow({ agent: { provider_id, model: null }, workflow: { title } });
  return { id, title, provider_id, name };
}

/** The refusal, with both ways out. */
const sentence = (provider: string, tokens: string, dollars: string) =>
  `No price is known for the model scripted of the provider ${provider}, so a limit in dollars cannot hold. ` +
  `Set its price in the provider's \`price_table\`, or limit tokens with \`${tokens}\` instead of \`${dollars}\``;

const save = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

describeInBrowser('a limit in dollars over a model without a price', () => {
  it('is refused in the form of a workflow, until the model has a price', async ({ page, troubles }) => {
    troubles.allow(/422/);
    const { id, provider_id, name } = await unpricedWorkflow();
    await signInAsAlice(page, `${here.url}/dashboard/workflows/${id}`, here.people.alice.token);
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByText('Set a budget').click();
    await page.getByRole('textbox', { name: 'Max cost US dollars' }).fill('7.5');
    await save(page, 'Save changes');
    const refusal = page.getByText(sentence(name, 'max_tokens', 'max_cost_usd'));
    await refusal.first().waitFor();
    expect(await faultsOf(page)).toEqual([]);
    expect(await read(`workflows/${id}`)).toMatchObject({ budget: null });

    const price_table = { scripted: { input: 3, output: 5 } };
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { price_table }));
    await save(page, 'Save changes');
    await page.getByText('was saved.').first().waitFor();
    expect(await refusal.count()).toBe(0);
    expect(await read(`workflows/${id}`)).toMatchObject({ budget: { max_cost_usd: 7.5, max_tokens: null } });
  });

  it('is refused in the form of a budget, and one in tokens is taken', async ({ page, troubles }) => {
    troubles.allow(/422/);
    const { id, title, name } = await unpricedWorkflow();
    await signInAsAlice(page, `${here.url}/dashboard/budgets/new`, here.people.alice.token);
    await page.getByRole('textbox', { name: 'Name' }).fill('Office a week');
    await page.getByLabel('Limits').selectOption('workflow');
    await page.getByRole('combobox', { name: 'Workflow' }).click();
    await page.getByRole('option', { name: title, exact: true }).click();
    await page.getByLabel('Period').selectOption('week');
    await page.getByRole('radio', { name: 'US dollars' }).check();
    await page.getByRole('textbox', { name: 'US dollars' }).fill('11');
    await save(page, 'Create budget');
    await page
      .getByText(sentence(name, 'limit_tokens', 'limit_usd'))
      .first()
      .waitFor();
    expect(await faultsOf(page)).toEqual([]);
    expect(await read('budgets')).toEqual([]);

    await page.getByRole('radio', { name: 'tokens' }).check();
    await page.getByRole('textbox', { name: 'Tokens' }).fill('7919');
    await save(page, 'Create budget');
    await page.getByText('7,919 tokens (100 %)').waitFor();
    expect(await read('budgets')).toMatchObject([{ subject_id: id, period: 'week', limit_tokens: 7_919, limit_usd: null }]);
  });
});
