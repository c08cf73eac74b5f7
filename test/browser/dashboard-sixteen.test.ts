import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Api, type Story, tellStory } from '../screenshots/story.ts';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { clicksOn, signInAsAlice } from '../support/browser/dashboard.ts';
import { helpers, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

const COMPLETED = 'Où est ma commande 4709 ?';
const OPEN = 'Watch the parcel of order 4723.';
const WEIGH = 'import time\ndef weigh(n: int) -> int:\n    time.sleep(1)\n    return n\n';

let here: TestInstallation;
let story: Story;
let workflow_of_bob: string;

/** Adds to the office: a decision that has waited less, a slow tool, a run that does not end, and Bob, who spends the most. */
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice' } });
  const { alice, bob, model } = here;
  const api = { send: (method, path, body) => alice.ok(method === 'GET' ? alice.get(path) : alice.post(path, body)) } as Api;
  story = await tellStory(api, model);

  const { agent_id } = await api.send<{ agent_id: string }>('GET', `/api/workflows/${story.workflow}`);
  const { id: late } = await api.send('POST', '/api/workflows', { agent_id, title: 'Late desk' });
  model.script(asks({ name: 'refund_order', args: { order_id: '4729', amount_usd: 61.5 } }));
  const later = await here.prompt(late, 'Refund order 4729, too.');
  await until('the second decision', async () => (await alice.get(`/api/tasks/${later}`)).body.status === 'waiting');

  // A budget in dollars counts only models that have a price.
  const priced = await api.send<{ provider_id: string }>('GET', `/api/agents/${agent_id}`);
  const agent = { provider_id: priced.provider_id };
  const parcels = await here.workflow({ agent, tools: [WEIGH], workflow: { title: 'Parcels' } });
  const tools = (await alice.ok(alice.get('/api/custom-tools'))) as unknown as { name: string }[];
  const { name } = tools.find((tool) => tool.name.endsWith('_weigh'))!;
  model.script(asks({ name, args: { n: 7 } }), says('7 kg'));
  await here.ended(await here.prompt(parcels, 'Weigh the parcel.'));

  const provider = { name: 'dear', provider_type: 'openai_compatible', base_url: model.url, default_model: 'large' };
  const price_table = { '*': { input: 50_000, output: 0 } };
  const { id: provider_id } = await bob.ok(bob.post('/api/providers', { ...provider, price_table }), 201);
  const of_bob = helpers(bob, model, 'bob ');
  workflow_of_bob = await of_bob.workflow({ agent: { provider_id }, workflow: { title: 'Studies' } });
  model.script(says('It is done.'));
  await of_bob.ended(await of_bob.prompt(workflow_of_bob));
  await bob.ok(bob.put(`/api/workflows/${workflow_of_bob}`, { title: 'Studies and reports' }));

  model.script(hangs('On its way'));
  await here.prompt(parcels, OPEN);
  model.always(says('It is done.'));
  await until('a report of the worker', async () => (await here.sql('SELECT 1 FROM worker_beats')).length === 1);
}, 120_000);
afterAll(() => here?.stop());

const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const rowOf = (page: Page, section: string, text: string | RegExp) =>
  region(page, section).getByRole('row').filter({ hasText: text });
const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name, exact: typeof name === 'string' });
const recent = (page: Page, prompt: string) => region(page, 'Recent tasks').getByRole('link', { name: prompt });
const figure = (page: Page, text: RegExp) =>
  page.getByRole('group', { name: 'Today' }).getByRole('link').filter({ hasText: text });

/** By question: the way from the overview to its answer. Later ones find what earlier ones did. */
const WAYS: Record<string, (page: Page) => Promise<void>> = {
  async 'What waits for me?'(page) {
    await rowOf(page, 'Waiting for you', 'Customer 881').waitFor();
    await rowOf(page, 'Waiting for you', 'Refund order 4729').waitFor();
  },
  async 'What waits longest?'(page) {
    await figure(page, /Waiting longest\s*Refund desk\s*started/).waitFor();
    await region(page, 'Waiting for you').getByRole('row').nth(1).filter({ hasText: 'Customer 881' }).waitFor();
  },
  async 'What exactly would this call do, and may it?'(page) {
    const row = rowOf(page, 'Waiting for you', 'Customer 881');
    await row.filter({ hasText: /"amount_usd": ?57\.25/ }).waitFor();
    await row.getByRole('button', { name: 'Approve' }).click();
    await row.waitFor({ state: 'detached' });
    await until('the refund', async () => (await here.ended(story.waiting)).response === 'It is done.');
  },
  async 'Why did these fail?'(page) {
    await figure(page, /^Failed, last 24 hours/).click();
    await page.getByRole('group', { name: 'Errors' }).getByText('This model was retired').waitFor();
  },
  async 'Which run was that?'(page) {
    await figure(page, /^Failed, last 24 hours/).click();
    await link(page, /This model was retired/).click();
    await page.getByRole('heading', { level: 1, name: /^Weekly report · #/ }).waitFor();
  },
  async 'What is it doing now?'(page) {
    await recent(page, OPEN).click();
    await region(page, 'Now').getByText('step 1, the model answers').waitFor();
  },
  async 'Which step took the time?'(page) {
    await recent(page, 'Weigh the parcel.').click();
    await page.getByRole('tab', { name: 'Steps' }).click();
    const call = page.getByRole('option').filter({ hasText: '_weigh' });
    await call.getByText(/^[1-9][\d.]* s$/).waitFor();
  },
  async 'What was sent to the model in that step?'(page) {
    await recent(page, COMPLETED).click();
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.locator('.step-row[data-kind="model"]').last().click();
    await page.getByRole('button', { name: 'What the model saw' }).click();
    const messages = page.getByRole('dialog').getByRole('list', { name: 'Messages' });
    await messages.getByText(COMPLETED).waitFor();
    await messages.getByText('delivered').waitFor();
  },
  async 'What did a run cost?'(page) {
    await rowOf(page, 'Recent tasks', COMPLETED)
      .getByText(/^\$0\.00\d+$/)
      .waitFor();
  },
  async 'Who spent most this week?'(page) {
    await link(page, 'Usage').click();
    const people = page.getByLabel('Runs of');
    await people.click();
    await people.selectOption('everybody');
    const dearest = region(page, 'By owner').getByRole('row').nth(1);
    await dearest.filter({ hasText: /^bob\s?.*\$0\.5000$/s }).waitFor();
  },
  async 'Which tool is slow?'(page) {
    await figure(page, /^Slowest tool, last 24 hours.*_weigh\s*95 % within/s).waitFor();
  },
  async 'What is left of the budgets?'(page) {
    await link(page, 'Usage').click();
    await rowOf(page, 'Budgets', 'The office, a month')
      .getByText(/^\$49\.\d+ \([\d.]+ %\)$/)
      .waitFor();
  },
  async 'How do I stop this run?'(page) {
    await recent(page, OPEN).click();
    await page.getByRole('button', { name: 'Halt …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Halt', exact: true }).click();
    await page.locator('.run-bar').getByText('halted').waitFor();
  },
  async 'How do I run it again?'(page) {
    await recent(page, COMPLETED).click();
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.waitForURL((url) => url.pathname.includes('/tasks/') && !url.pathname.endsWith(story.completed));
    await page.getByRole('article', { name: 'Reply' }).getByText('It is done.').waitFor();
  },
  async 'Are all workers alive, and is a queue backed up?'(page) {
    await link(page, 'System').click();
    await rowOf(page, 'Workers', 'works').waitFor();
    await region(page, 'Queues').getByRole('row').nth(2).getByText('0', { exact: true }).waitFor();
  },
  async 'Who changed this workflow?'(page) {
    await link(page, 'Audit').click();
    await page
      .getByRole('row')
      .filter({ hasText: new RegExp(`bob.*update_workflow.*${workflow_of_bob}`, 's') })
      .waitFor();
  },
};

/** Reads the clicks that docs/dashboard.md states for each question. */
async function readClicks(): Promise<Record<string, number>> {
  const text = await readFile(new URL('../../docs/dashboard.md', import.meta.url), 'utf8');
  const [, section = ''] = /^### Sixteen questions$(.*?)^### /ms.exec(text) ?? [];
  const rows = [...section.matchAll(/^\| ([^|]+\?) \| [^|]+ \| (\d+) \|$/gm)];
  return Object.fromEntries(rows.map(([, question, clicks]) => [question!, Number(clicks)]));
}

describeInBrowser('the sixteen questions of an operator', () => {
  it('are answered with as many clicks from the overview as the docs state', async ({ page }) => {
    const clicks = await clicksOn(page);
    const overview = `${here.url}/dashboard/`;
    await signInAsAlice(page, overview);
    const counted: Record<string, number> = {};
    for (const [question, follow] of Object.entries(WAYS)) {
      await page.goto(overview);
      await region(page, 'Recent tasks').getByRole('row').nth(1).waitFor();
      const before = clicks();
      await follow(page);
      counted[question] = clicks() - before;
    }
    expect(Object.keys(counted)).toHaveLength(16);
    expect(counted).toEqual(await readClicks());
  }, 180_000);
});
