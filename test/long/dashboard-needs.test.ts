import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { darken, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const make = async (path: string, body: object) => (await here.alice.ok(here.alice.post(`/api/${path}`, body))).id as string;

/** Creates one of each resource that can refer to a stored token, with a reference to this one. */
async function everythingThatNames(token: string): Promise<[slug: string, id: string][]> {
  const agent_id = await make('agents', { name: token });
  const headers = { Authorization: `Bearer {{token:${token}}}` };
  const bodies = {
    providers: { name: token, provider_type: 'openai', api_key_token_name: token },
    mcps: { name: token, transport_type: 'http', connection_config: { url: here.model.url, headers } },
    'knowledge-sources': {
      name: token,
      source_type: 'vector_db',
      connection_config: { url: here.model.url, collection: 'c', api_key: `{{token:${token}}}` },
    },
    'custom-tools': {
      name: token.replaceAll('-', '_'),
      source_code: `ENV = {"KEY": "a key"}\n\ndef ${token.replaceAll('-', '_')}() -> int:\n    return 1\n`,
      env_config: { KEY: { token_name: token } },
    },
    workflows: { title: token, agent_id, repo_url: 'https://git.example/r.git', repo_token_name: token },
  };
  const made: [string, string][] = [];
  for (const [slug, body] of Object.entries(bodies)) made.push([slug, await make(slug, body)]);
  return made;
}

const mark = (page: Page, token: string) => page.locator('.status[data-tone="wait"]').getByText(`needs a token: ${token}`);

describeInBrowser('a resource whose stored token is missing', () => {
  it('has an amber mark in its list and on its page until the token is stored', async ({ page }) => {
    const made = await everythingThatNames('late-key');
    await signInAsAlice(page, `${here.url}/dashboard/`);
    for (const [slug, id] of made) {
      await page.goto(`${here.url}/dashboard/${slug}`);
      await mark(page, 'late-key').waitFor();
      expect(await axe(page)).toEqual([]);
      await page.goto(`${here.url}/dashboard/${slug}/${id}`);
      await page.getByText('You have no access to a stored token named late-key.').waitFor();
      expect(await axe(page)).toEqual([]);
    }
    await darken(page);
    expect(await axe(page)).toEqual([]);

    await page.getByRole('alert').getByRole('link', { name: 'late-key' }).click();
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('late-key');
    await page.getByLabel('Value').fill('secret value');
    await page.getByRole('button', { name: 'Create stored token' }).click();
    await page.getByRole('heading', { name: 'late-key' }).waitFor();
    for (const [slug, id] of made) {
      await page.goto(`${here.url}/dashboard/${slug}`);
      await page.getByRole('table').getByRole('link').first().waitFor();
      expect(await mark(page, 'late-key').count()).toBe(0);
      await page.goto(`${here.url}/dashboard/${slug}/${id}`);
      await page.getByRole('button', { name: 'Delete …' }).waitFor();
      expect(await page.getByText('You have no access to a stored token').count()).toBe(0);
    }
  }, 120_000);
});

describeInBrowser('an agent whose runtime takes no custom tools', () => {
  it('is reported on its page and in its run', async ({ page }) => {
    const tool = await make('custom-tools', { name: 'not_offered', source_code: 'def not_offered() -> int:\n    return 1\n' });
    const agent_id = await make('agents', { name: 'without a provider', custom_tool_ids: [tool] });
    const workflow_id = await make('workflows', { agent_id, output_format: 'markdown' });
    here.model.script(says('I have no tools.'));
    const task_id = await here.prompt(workflow_id, 'Use your tool.');
    await here.ended(task_id);
    await signInAsAlice(page, `${here.url}/dashboard/`);
    await page.goto(`${here.url}/dashboard/agents/${agent_id}`);
    await page.getByText('The default runtime takes no custom tools').waitFor();
    expect(await axe(page)).toEqual([]);
    await page.goto(`${here.url}/dashboard/tasks/${task_id}`);
    await page.getByText('not_offered: the default runtime takes no custom tools').waitFor();
    expect(await axe(page)).toEqual([]);
  });
});

describeInBrowser('a guardrail that guards nothing', () => {
  it('is reported when it is created and on its page', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/guardrails/new`);
    await page.getByRole('textbox', { name: 'Name' }).fill('toothless');
    await page.getByLabel('Guardrail type').selectOption('output');
    await page.getByRole('button', { name: 'Create guardrail' }).click();
    await page.getByText('Saved with a warning').waitFor();
    await page.getByRole('heading', { name: 'toothless' }).waitFor();
    await page.getByRole('alert').getByText('This guardrail has no rule and guards nothing').first().waitFor();
    await page.getByText('Check these settings').waitFor();
    expect(await axe(page)).toEqual([]);
  });
});
