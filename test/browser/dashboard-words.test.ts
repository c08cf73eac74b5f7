import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { collectionOf, type World, worldOf } from '../api/contract-world.ts';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { someOf } from '../support/some-of.ts';

/** What people read: figures, times and refusals, on the pages that show them. */
let here: TestInstallation;
let world: World;
beforeAll(async () => {
  here = await startTestInstallation();
  world = await worldOf(here);
});
afterAll(() => here.stop());

const signIn = (page: Page, path = '/') => signInAsAlice(page, `${here.url}/dashboard${path}`);
const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
const fact = (page: Page, name: string) =>
  page.locator('dl.facts > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) }).locator('dd');
const MINUTE = 60_000;
const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();

/** A run with these tokens at these prices per million, as long as this. */
async function run(usage: { input: number; output: number }, price: number, seconds: number) {
  const id = await here.workflow();
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
  const { provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const price_table = { '*': { input: price, output: price } };
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { price_table }));
  here.model.script(says('Done.', { usage: { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: 0 } }));
  const task_id = await here.prompt(id);
  await here.ended(task_id);
  await sql(`UPDATE tasks SET completed_at = started_at + make_interval(secs => $2) WHERE id = $1`, task_id, seconds);
  return { workflow_id: id, task_id };
}

const FIGURES = [
  ['large', { input: 1_234_567, output: 89 }, 1_000, 7_500, '$1,234.66', '2 h 5 min', '1,234,567 in, 89 out', '1,234,656'],
  ['small', { input: 1_000, output: 234 }, 1, 119.6, '$0.00123', '2 min 0 s', '1,000 in, 234 out', '1,234'],
  ['tiny', { input: 10, output: 5 }, 0.02, 0.42, 'under $0.00001', '420 ms', '10 in, 5 out', '15'],
] as const;

describeInBrowser('the figures of a run', () => {
  it.for(someOf(FIGURES, 3))(
    'are read as they are: %s',
    async ([, usage, price, seconds, cost, took, tokens, total], { page }) => {
      const { task_id } = await run(usage, price, seconds);
      await signIn(page, `/tasks/${task_id}`);
      await expect.poll(() => fact(page, 'Cost').innerText()).toBe(cost);
      await expect.poll(() => fact(page, 'Duration').innerText()).toBe(took);
      expect(await fact(page, 'Tokens').innerText()).toBe(tokens);
      await page.goto(`${here.url}/dashboard/tasks`);
      const row = page.getByRole('row').filter({ has: page.locator(`a[href$="/tasks/${task_id}"]`) });
      await row.waitFor();
      const cells = await row.getByRole('cell').allInnerTexts();
      expect(cells.slice(-4)).toEqual([took, '0', total, cost]);
    },
  );
});

const DISTANCES = [
  ['soon', 3 * MINUTE + 20_000, /\(in 3 minutes\)$/],
  ['in hours', 5 * 60 * MINUTE + MINUTE, /\(in 5 hours\)$/],
  ['in days', 3 * 1_440 * MINUTE + MINUTE, /\(in 3 days\)$/],
] as const;

describeInBrowser('the distance of a time', () => {
  it.for(someOf(DISTANCES, 3))('is that of the next run: %s', async ([name, ms, shown], { page }) => {
    const schedule = {
      name: `due ${name}`,
      workflow_id: world.ids.workflows,
      prompt: 'x',
      interval_value: 1,
      interval_unit: 'weeks',
    };
    await here.alice.ok(here.alice.post('/api/scheduled-agents', { ...schedule, start_at: fromNow(ms) }), 201);
    await signIn(page, '/scheduled-agents');
    const row = page.getByRole('row').filter({ hasText: `due ${name}` });
    await expect.poll(async () => (await row.getByRole('cell').allInnerTexts()).some((text) => shown.test(text))).toBe(true);
  });

  it('is that of a run that has waited since', async ({ page }) => {
    const tool = 'manage_todo_list';
    const id = await here.workflow({ agent: { builtin_tools: [tool], approval_tools: [tool] } });
    here.model.script(asks({ name: tool, args: { todoList: [] } }));
    const task_id = await here.prompt(id);
    await expect.poll(async () => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status).toBe('waiting');
    await sql(`UPDATE tool_calls SET waiting_since = now() - interval '125 minutes' WHERE task_id = $1`, task_id);
    await signIn(page);
    const since = page
      .getByRole('time')
      .filter({ hasText: /^2 hours ago$/ })
      .first();
    await since.waitFor();
    expect(await since.getAttribute('title')).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d \S+$/);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    await here.ended(task_id);
  });
});

/** What the service refuses, and what the page says: the reason, and what to do where that helps. */
const REFUSALS: [status: number, shown: RegExp][] = [
  [400, /The reason of 400\./],
  [403, /The reason of 403\. It belongs to someone else/],
  [404, /The reason of 404\. It may have been deleted/],
  [409, /The reason of 409\./],
  [413, /The reason of 413\./],
  [422, /The reason of 422\./],
  [429, /The reason of 429\. Wait a moment and try again/],
  [500, /The reason of 500\./],
  [502, /The reason of 502\./],
  [503, /The reason of 503\./],
];

describeInBrowser('an error of the service', () => {
  it.for(someOf(REFUSALS, 3))(
    '%i is shown with its reason, on a page, in a list and at a button',
    async ([status, shown], { page, troubles }) => {
      troubles.allow(new RegExp(`status of ${status}`));
      await signIn(page, '/skills');
      await page.getByRole('link', { name: 'New skill' }).first().waitFor();
      const problem = { status, title: 't', detail: `The reason of ${status}`, code: 'a_code', request_id: 'x' };
      const refuse = { status, contentType: 'application/problem+json', body: JSON.stringify(problem) };
      await page.route(/\/api\/(?:guardrails|providers)/, (route) => route.fulfill(refuse));
      const alert = page.getByRole('alert').filter({ hasText: shown });
      await page.getByRole('link', { name: 'Guardrails', exact: true }).click();
      await alert.waitFor();
      await page.getByRole('button', { name: 'Try again' }).waitFor();
      await page.unroute(/\/api\/(?:guardrails|providers)/);
      await page.getByRole('button', { name: 'Try again' }).click();
      await alert.waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'New guardrail' }).first().waitFor();
    },
  );

  it('without a body that explains it names the status', async ({ page, troubles }) => {
    troubles.allow(/status of 502/);
    await signIn(page, '/skills');
    await page.route(/\/api\/guardrails/, (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }),
    );
    await page.getByRole('link', { name: 'Guardrails', exact: true }).click();
    await page.getByRole('alert').getByText('The service returned 502. See its log for the cause.').waitFor();
  });
});

/** The records that have a form, each with one of its texts. */
const FORMS: Record<string, string> = {
  ...{ agents: 'Description', providers: 'Description', tokens: 'Description', 'custom-tools': 'Description' },
  ...{ skills: 'Description', guardrails: 'Description', mcps: 'Description', 'knowledge-sources': 'Description' },
  ...{ 'knowledge-items': 'Name', memories: 'Value', 'scheduled-agents': 'Prompt', workflows: 'Title' },
  ...{ alerts: 'Name', budgets: 'Name', datasets: 'Description' },
};
/** Their form is on a tab of their page. */
const WITH_TABS = ['workflows', 'datasets'];

describeInBrowser('a form', () => {
  it('is there for each resource of the API that can be changed', async () => {
    const { paths } = (await here.anonymous.get('/openapi.json')).body as { paths: Record<string, object> };
    const changed = Object.entries(paths).filter(
      ([path, operations]) => /^\/api\/[\w-]+\/\{\w+\}$/.test(path) && ('put' in operations || 'patch' in operations),
    );
    const slugs = changed.map(([path]) => collectionOf({ path } as never));
    // Threads are changed in the chat: test/browser/dashboard-chat-list.test.ts.
    expect([...new Set(slugs)].sort()).toEqual([...Object.keys(FORMS), 'threads'].sort());
  });

  it.for(someOf(Object.entries(FORMS), 4))(
    'of %s shows that it could not be saved, and keeps what was typed',
    async ([slug, name], { page, troubles }) => {
      troubles.allow(/ERR_INTERNET_DISCONNECTED/);
      await signIn(page, `/${slug}/${world.ids[slug]}${WITH_TABS.includes(slug) ? '?tab=settings' : ''}`);
      const form = page.locator('form').filter({ has: page.getByRole('button', { name: 'Save changes' }) });
      const typed = form.getByRole('textbox', { name, exact: true }).first();
      await typed.fill('typed by a test');
      await page.context().setOffline(true);
      await form.getByRole('button', { name: 'Save changes' }).click();
      await form.getByRole('alert').getByText('The service cannot be reached.').waitFor();
      expect(await typed.inputValue()).toBe('typed by a test');
      await page.context().setOffline(false);
    },
  );
});

describeInBrowser('a page', () => {
  it('says that the service is out of reach, also to a browser that is offline', async ({ page, troubles }) => {
    troubles.allow(/ERR_INTERNET_DISCONNECTED/);
    await signIn(page, '/skills');
    await page.getByRole('link', { name: 'New skill' }).first().waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Guardrails', exact: true }).click();
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'New guardrail' }).first().waitFor();
  });
});
