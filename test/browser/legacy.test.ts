import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, says, sends } from '../support/peers/model-server.ts';
import { parkBehind } from '../support/runs/park-behind.ts';
import { until } from '../support/until.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const PAY = 'import time\ndef pay() -> str:\n    time.sleep(20)\n    return "paid"\n';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const open = (page: Page, url = here.url) => page.goto(`${url}/dashboard-legacy`);

async function signIn(page: Page, { token = ALICE, url = here.url }: { token?: string; url?: string } = {}) {
  await open(page, url);
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Signs in and opens a new workflow with this title. */
async function opened(page: Page, options: { title: string; tools?: string[] }) {
  const { title, tools = [] } = options;
  const workflow_id = await here.workflow({ tools, workflow: { title } });
  await signIn(page);
  await page.getByRole('button', { name: title, exact: true }).click();
  await page.getByRole('heading', { name: title }).waitFor();
  return workflow_id;
}

async function send(page: Page, prompt = 'Do it.') {
  await page.getByLabel('Prompt').fill(prompt);
  await page.getByRole('button', { name: 'Send' }).click();
}

const shows = (page: Page, selector: string, text: string | RegExp) =>
  expect.poll(() => page.locator(selector).innerText(), { timeout: 15_000 }).toMatch(text);

/** An agent whose only tool needs approval, and the name of that tool. */
async function withApproval(workflow_id: string): Promise<string> {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  return name;
}

describeInBrowser('the legacy dashboard', () => {
  it('refuses a wrong token, and forgets it', async ({ page, troubles }) => {
    troubles.allow(/401/);
    await signIn(page, { token: 'wrong' });
    await shows(page, '#notice', /token/i);
    expect(await page.getByLabel('Access token').isVisible()).toBe(true);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  long('stays signed in while the tab is open, until the user signs out', async ({ page }) => {
    await signIn(page);
    await page.getByRole('heading', { name: 'Workflows' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Workflows' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    await page.reload();
    expect(await page.getByRole('heading', { name: 'Workflows' }).isVisible()).toBe(false);
  });

  it('calls a workflow without a title by its newest prompt, or by its id, and shows times and states', async ({ page }) => {
    const [prompted, fresh] = [await here.workflow(), await here.workflow()];
    here.model.script(says('Seven.'));
    await here.ended(await here.prompt(prompted, 'Count the seven black sheep on the green hill.'));
    await signIn(page);
    const shown = page.locator('#workflows tr', { hasText: 'Count the seven black sheep on' });
    await shown.waitFor();
    await page
      .locator('#workflows')
      .getByRole('button', { name: `#${fresh.slice(-8)}`, exact: true })
      .waitFor();
    expect(await shown.locator('.state.completed').innerText()).toBe('completed');
    const at = shown.locator('time');
    expect([await at.innerText(), await at.getAttribute('title')]).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/),
      expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    ]);
    expect(await axe(page)).toEqual([]);
  });

  it('creates a workflow for an agent and follows its run', async ({ page }) => {
    await here.alice.ok(here.alice.post('/api/agents', { name: 'the only writer' }));
    await signIn(page);
    await page.getByText('New workflow').click();
    await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'the only writer' });
    await page.getByLabel('Title').fill('Written here');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Written here' }).waitFor();
    here.model.script(says('Streamed word by word.', { pause_ms: 150 }));
    await send(page);
    await shows(page, '#partial', /^Streamed/);
    await shows(page, '#status', 'completed');
    await shows(page, '#result', 'Streamed word by word.');
    await shows(page, '#events', /assistant Streamed word by word\./);
    expect(await page.locator('#partial').isVisible()).toBe(false);
    await shows(page, '#tasks', /Do it\.\s+completed/);
    await shows(page, '#workflows', /Written here\s+completed/);
  });

  long('drops unfinished text when a step is retried', async ({ page }) => {
    await opened(page, { title: 'Tried again' });
    const half = 'data: {"choices":[{"index":0,"delta":{"content":"half of it"}}]}\n\n';
    here.model.script(sends(half, { cut: true }), says('All of it.'));
    await send(page);
    await shows(page, '#status', 'completed');
    const events = await page.locator('#events').innerText();
    expect(events).toContain('attempt_reset');
    expect(events).toContain('assistant All of it.');
    expect(events).not.toContain('half of it');
  });

  it('resumes a broken stream where it broke', async ({ page, troubles }) => {
    troubles.allow(/ERR_/);
    await opened(page, { title: 'Broken stream' });
    const asked: (string | undefined)[] = [];
    await page.route('**/stream?*', async (route) => {
      asked.push(route.request().headers()['last-event-id']);
      if (asked.length > 1) return route.continue();
      const body = 'id: 1\ndata: {"type":"log","data":{"event":"prompt_received","detail":"first half"}}\n\n';
      return route.fulfill({ status: 200, contentType: 'text/event-stream', body });
    });
    here.model.script(says('The second half.'));
    await send(page);
    await shows(page, '#status', 'completed');
    expect(asked).toEqual(['0', '1']);
    await shows(page, '#events', /first half[\s\S]*assistant The second half\./);
    expect((await page.locator('#events').innerText()).match(/prompt_received/g)).toHaveLength(1);
  });

  long('halts a run', async ({ page }) => {
    await opened(page, { title: 'Halted' });
    here.model.script(hangs('I will never '));
    await send(page);
    await shows(page, '#partial', 'I will never');
    await page.getByRole('button', { name: 'Halt', exact: true }).click();
    await shows(page, '#status', 'halted');
    expect(await page.getByRole('button', { name: 'Halt', exact: true }).isDisabled()).toBe(true);
  });

  it('asks for approval, and sends the reason for a denial to the model', async ({ page }) => {
    const workflow_id = await opened(page, { title: 'Approved', tools: [ADD] });
    const name = await withApproval(workflow_id);
    const call = asks({ name, args: { a: 2, b: 3 } });
    here.model.script(call, says('Five.'), call, says('As you like.'));
    await send(page);
    const asked = page.getByRole('group', { name: `Approve the call to ${name}?` });
    await asked.waitFor();
    expect(await asked.innerText()).toContain('{"a":2,"b":3}');
    expect(await axe(page)).toEqual([]);
    await asked.getByRole('button', { name: 'Approve' }).click();
    await shows(page, '#result', 'Five.');
    expect(await asked.isVisible()).toBe(false);

    await send(page);
    await asked.getByLabel('Message to the model').fill('too dear');
    await asked.getByRole('button', { name: 'Deny' }).click();
    await shows(page, '#result', 'As you like.');
    expect(JSON.stringify(here.model.requests.at(-1)?.messages)).toContain('too dear');
  });

  long('asks whether to resume or fail a run whose record is behind', async ({ page }) => {
    const workflow_id = await opened(page, { title: 'Behind' });
    const parked = async () => {
      await send(page);
      await shows(page, '#partial', 'Half');
      const tasks = await here.alice.ok(here.alice.get(`/api/tasks/workflow/${workflow_id}?limit=1`));
      await parkBehind(here, { task_id: tasks[0].id, workflow_id });
      const asked = page.getByRole('group', { name: 'Resume this run from its record?' });
      await asked.waitFor();
      return asked;
    };
    here.model.script(hangs('Half'), says('The whole.'), hangs('Half'));
    const resumed = await parked();
    expect(await resumed.innerText()).toContain('The record of the run lacks step 2.');
    expect(await page.locator('#decisions').innerText()).not.toContain('budget');
    expect(await axe(page)).toEqual([]);
    await resumed.getByRole('button', { name: 'Resume the run' }).click();
    await shows(page, '#result', 'The whole.');
    expect(await resumed.isVisible()).toBe(false);

    await (await parked()).getByRole('button', { name: 'Fail the run' }).click();
    await shows(page, '#status', 'failed');
  });

  it('shows data as text, never as markup', async ({ page }) => {
    const markup = '<img src=x onerror="document.title=1"><b>bold</b>';
    await here.alice.ok(here.alice.post('/api/skills', { name: markup, instructions: markup, description: markup }));
    await opened(page, { title: markup });
    here.model.script(says(markup));
    await send(page, markup);
    await shows(page, '#result', markup);
    await page.getByLabel('Show').selectOption('skills');
    await shows(page, '#resources', markup);
    expect(await page.locator('main img, main td b').count()).toBe(0);
    expect(await page.title()).toBe('Perdura (simple dashboard)');
  });

  long('lists the other resources and deletes them', async ({ page }) => {
    await here.alice.ok(
      here.alice.post('/api/memories', { agent_id: (await anAgent()).id, scope: 'agent', key: 'k1', value: 'v' }),
    );
    await here.alice.ok(here.alice.post('/api/skills', { name: 'short-lived', instructions: 'x' }));
    await signIn(page);
    const kinds = (await page.evaluate("[...document.querySelectorAll('#kind option')].map((it) => it.value)")) as string[];
    expect(kinds).toContain('skills');
    for (const kind of kinds.reverse()) {
      const answer = page.waitForResponse(`**/api/${kind}`);
      await page.getByLabel('Show').selectOption(kind);
      expect((await answer).status(), kind).toBe(200);
    }
    await page.getByLabel('Show').selectOption('memories');
    await shows(page, '#resources', 'k1');
    await page.getByLabel('Show').selectOption('skills');
    page.once('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Delete short-lived' }).click();
    await shows(page, '#notice', 'Deleted short-lived');
    expect(await page.locator('#resources').innerText()).not.toContain('short-lived');
  });

  it('has no axe violations, signed in and signed out, on a phone and in the dark theme', async ({ page }) => {
    await open(page);
    expect(await axe(page)).toEqual([]);
    await opened(page, { title: 'Accessible with_a_title_that_is_long_and_cannot_be_broken_anywhere_at_all_by_itself' });
    here.model.script(says(`A result. ${'x'.repeat(300)}`));
    await send(page);
    await shows(page, '#status', 'completed');
    await page.getByText('New workflow').click();
    expect(await axe(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await axe(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });

  long('shows no warning if tools are isolated', async ({ page }) => {
    await open(page);
    await expect
      .poll(() => page.evaluate("performance.getEntriesByType('resource').map((it) => it.name).join()"))
      .toMatch(/ready/);
    expect(await page.getByRole('alert').isVisible()).toBe(false);
  });
});

const anAgent = async () => (await here.alice.ok(here.alice.get('/api/agents?limit=1')))[0];

describeInBrowser('the legacy dashboard of an installation without tool isolation', () => {
  let bare: TestInstallation;
  beforeAll(async () => {
    bare = await startTestInstallation({ worker: false, env: { TOOL_ISOLATION: 'none' } });
  });
  afterAll(() => bare.stop());

  it('warns', async ({ page }) => {
    await page.goto(`${bare.url}/dashboard-legacy`);
    await shows(page, '#banner', /WITHOUT ISOLATION/);
    expect(await axe(page)).toEqual([]);
  });

  long('asks whether a call took effect if its worker was lost', { timeout: 60_000 }, async ({ page }) => {
    const worker = await startWorkerProcess(bare.setting, { TOOL_ISOLATION: 'none' });
    const workflow_id = await bare.workflow({ tools: [PAY], workflow: { title: 'Lost' } });
    bare.model.script(
      async (response, request) => asks({ name: request.tools![0]!.function.name })(response, request),
      says('Paid.'),
    );
    const task_id = await bare.prompt(workflow_id);
    await until('the call', async () => {
      const steps = (await bare.alice.get(`/api/tasks/${task_id}/steps`)).body as unknown as {
        tool_calls: { status: string }[];
      }[];
      return steps[0]?.tool_calls[0]?.status === 'started';
    });
    await worker.end('SIGKILL');
    const next = await startWorkerProcess(bare.setting, { TOOL_ISOLATION: 'none' });
    onTestFinished(async () => void (await next.end('SIGKILL')));
    await signIn(page, { url: bare.url });
    await page.getByRole('button', { name: 'Lost', exact: true }).click();
    const asked = page.getByRole('group', { name: /Did the call to .*pay take effect\?/ });
    await asked.waitFor({ timeout: 40_000 });
    await asked.getByLabel('Result, if you mark it as done').fill('receipt 7');
    await asked.getByRole('button', { name: 'Mark as done' }).click();
    await shows(page, '#result', 'Paid.');
    expect(JSON.stringify(bare.model.requests.at(-1)?.messages)).toContain('receipt 7');
  });
});
