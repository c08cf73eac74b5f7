import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { chooseMore, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const signIn = (page: Page, path = '/') => signInAsAlice(page, `${here.url}/dashboard${path}`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const make = async (path: string, body: object) => (await here.alice.ok(here.alice.post(`/api/${path}`, body))).id as string;
const read = (path: string) => here.alice.ok(here.alice.get(`/api/${path}`));
const leaving = (page: Page) => page.getByRole('dialog', { name: 'Leave without saving?' });

async function finishedRun(answer = 'Done.'): Promise<{ workflow_id: string; task_id: string }> {
  const workflow_id = await here.workflow();
  here.model.script(says(answer));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  return { workflow_id, task_id };
}

describeInBrowser('a picker', () => {
  it('creates a record in a dialog, whose pickers can do the same, and chooses it', async ({ page }) => {
    await signIn(page, '/workflows/new');
    await page.getByRole('combobox', { name: 'Agent' }).fill('fresh agent');
    await page.getByRole('option', { name: '+ New agent …' }).click();
    const agent = page.getByRole('dialog', { name: 'New agent' });
    expect(await agent.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('fresh agent');
    await agent.getByRole('combobox', { name: 'Provider', exact: true }).click();
    await page.getByRole('option', { name: '+ New provider …' }).click();
    const provider = page.getByRole('dialog', { name: 'New provider' });
    await provider.getByRole('textbox', { name: 'Name' }).fill('fresh provider');
    await provider.getByLabel('Provider type').selectOption('openai_compatible');
    await provider.getByRole('textbox', { name: 'Base URL' }).fill(here.model.url);
    await provider.getByRole('combobox', { name: 'Stored token with the key' }).click();
    await page.getByRole('option', { name: '+ New stored token …' }).click();
    const token = page.getByRole('dialog', { name: 'New stored token' });
    await token.getByRole('textbox', { name: 'Name' }).fill('fresh-key');
    await token.getByLabel('Value').fill('secret value');
    expect(await axe(page)).toEqual([]);
    await token.getByRole('button', { name: 'Create stored token' }).click();
    await token.waitFor({ state: 'detached' });
    await provider.getByRole('button', { name: 'Create provider' }).click();
    await provider.waitFor({ state: 'detached' });
    await agent.getByRole('button', { name: 'Create agent' }).click();
    await agent.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('combobox', { name: 'Agent' }).inputValue()).toBe('fresh agent');
    await page.getByRole('combobox', { name: 'Skills' }).click();
    await page.keyboard.type('fresh skill');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const skill = page.getByRole('dialog', { name: 'New skill' });
    await skill.getByRole('textbox', { name: 'Name' }).fill('fresh skill');
    await skill.getByRole('textbox', { name: 'Instructions' }).fill('Be kind.');
    await skill.getByRole('button', { name: 'Create skill' }).click();
    await skill.waitFor({ state: 'detached' });
    await button(page, 'Create workflow').click();
    await page.getByRole('heading', { name: 'Untitled workflow' }).waitFor();

    const workflow = await read(`workflows/${new URL(page.url()).pathname.split('/').at(-1)}`);
    const made = await read(`agents/${workflow.agent_id}`);
    const skills = (await read('skills?q=fresh')) as unknown as { id: string }[];
    expect([made.name, workflow.skill_ids]).toEqual(['fresh agent', skills.map(({ id }) => id)]);
    expect(await read(`providers/${made.provider_id}`)).toMatchObject({
      name: 'fresh provider',
      api_key_token_name: 'fresh-key',
    });
  }, 120_000);

  it('keeps what was typed in a dialog that creates a record', async ({ page }) => {
    await signIn(page, '/workflows/new');
    const dialog = page.getByRole('dialog', { name: 'New guardrail' });
    const openDialog = async () => {
      await page.getByRole('combobox', { name: 'Guardrails' }).click();
      await page.getByRole('option', { name: '+ New guardrail …' }).click();
    };
    await openDialog();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('half');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await openDialog();
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('half');
    await dialog.getByRole('button', { name: 'Discard draft' }).click();
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('');
  });

  it('closes on Escape without focus, but first closes a list that is open in the dialog', async ({ page }) => {
    await signIn(page, '/knowledge-items');
    await button(page, 'Upload …').click();
    const dialog = page.getByRole('dialog', { name: 'Upload a document' });
    await dialog.getByLabel('Tags').fill('half');
    await dialog.getByLabel('Tags').press('Enter');
    const escapeFromNowhere = async () => {
      await page.evaluate('document.activeElement.blur()');
      await page.keyboard.press('Escape');
    };
    await escapeFromNowhere();
    await leaving(page).getByRole('button', { name: 'Stay' }).click();
    await leaving(page).waitFor({ state: 'detached' });
    await dialog.getByRole('combobox', { name: 'Source' }).click();
    const list = page.getByRole('option', { name: '+ New source …' });
    await list.waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'hidden' });
    expect(await leaving(page).count()).toBe(0);
    await escapeFromNowhere();
    await leaving(page).getByRole('button', { name: 'Leave' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it.for([
    ['/mcps', 'Import …', 'mcpServers JSON'],
    ['/knowledge-items', 'Upload …', 'Tags'],
    ['/tasks/', 'Fork …', 'Message before the step (optional)'],
  ] as const)('asks before a dialog with unsaved text is closed (%s)', async ([path, opener, label], { page }) => {
    await signIn(page, path === '/tasks/' ? `/tasks/${(await finishedRun()).task_id}` : path);
    const openDialog = () => (opener === 'Fork …' ? chooseMore(page, opener) : button(page, opener).click());
    await openDialog();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel(label, { exact: true }).first();
    await field.fill('half');
    // Enter adds a tag; in the other fields it adds a new line.
    await field.press('Enter');
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await leaving(page).getByRole('button', { name: 'Stay' }).click();
    await leaving(page).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await leaving(page).getByRole('button', { name: 'Leave' }).click();
    await dialog.waitFor({ state: 'detached' });
    // Nothing asks again.
    await openDialog();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor();
  });
});

describeInBrowser('a half-filled form', () => {
  it('is kept as a draft when another screen or tab is opened, and not after saving', async ({ page }) => {
    const id = await make('skills', { name: 'guarded', instructions: 'Do.' });
    await signIn(page, `/skills/${id}`);
    const field = page.getByRole('textbox', { name: 'Description' });
    await field.fill('half');
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.goBack();
    expect(await field.inputValue()).toBe('half');
    await button(page, 'Save changes').click();
    await page.getByText('The skill was saved.').waitFor();
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();

    const workflow_id = await here.workflow();
    await page.goto(`${here.url}/dashboard/workflows/${workflow_id}?tab=settings`);
    await page.getByRole('textbox', { name: 'Title' }).fill('half');
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('No runs yet.').waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByText('This is your draft from').waitFor();
    expect(await axe(page)).toEqual([]);
  }, 120_000);

  it('asks about input typed to test a resource, until the test has run', async ({ page }) => {
    const source_code = 'def shout(text: str) -> str:\n    return text.upper()\n';
    const trials = [
      ['guardrails', { name: 'short', guardrail_type: 'prompt', config: { max_length: 50 } }, 'Text', 'Check the text'],
      ['custom-tools', { name: 'shout', source_code }, 'Arguments (JSON)', 'Run the tool'],
      ['knowledge-sources', { name: 'guide' }, 'Question', 'Search'],
    ] as const;
    await signIn(page);
    for (const [slug, body, label, act] of trials) {
      await page.goto(`${here.url}/dashboard/${slug}/${await make(slug, body)}`);
      await page.getByRole('textbox', { name: label, exact: true }).fill('{"text": "a"}');
      await page.getByRole('link', { name: 'Tasks', exact: true }).click();
      await leaving(page).getByRole('button', { name: 'Stay' }).click();
      await leaving(page).waitFor({ state: 'detached' });
      await button(page, act).click();
      await page.getByText(/Passed|Completed \(|No passages found/).waitFor();
      await page.getByRole('link', { name: 'Tasks', exact: true }).click();
      await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
    }
  }, 120_000);

  it('asks when the browser closes the tab, if it has no draft', async ({ page }) => {
    const [path, name] = ['/make', 'Prompt'];
    await signIn(page, path);
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    // Chromium asks only on pages that the user has interacted with.
    await page.getByRole('textbox', { name, exact: true }).click();
    await page.keyboard.type('half');
    await page.close({ runBeforeUnload: true });
    await expect.poll(() => asked).toEqual(['beforeunload']);
    expect(await page.getByRole('textbox', { name, exact: true }).inputValue()).toBe('half');
    await page.getByRole('textbox', { name, exact: true }).fill('');
  });
});

describeInBrowser('a chat', () => {
  it('clears the text box when a message is sent, and stops the reply on request', async ({ page }) => {
    const provider_id = await make('providers', {
      name: 'talker',
      provider_type: 'openai_compatible',
      base_url: here.model.url,
      default_model: 'm',
    });
    const agent_id = await make('agents', { name: 'talker', provider_id });
    const aborted = here.model.aborted();
    here.model.script(hangs('A beginning'));
    await signIn(page, `/chat/${agent_id}`);
    const box = page.getByRole('textbox', { name: 'Message' });
    await box.fill('Talk.');
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('A beginning').waitFor();
    expect(await box.inputValue()).toBe('');
    // Text typed meanwhile stays, although the first reply navigates to its session.
    await box.fill('And then?');
    await button(page, 'Stop').click();
    await page.waitForURL(/\/chat\/[^/]+\/[^/]+$/);
    await button(page, 'Send').waitFor();
    expect(await box.inputValue()).toBe('And then?');
    await expect.poll(here.model.aborted).toBe(aborted + 1);
    await box.fill('');
    await page.reload();
    await page.getByRole('log').getByText('A beginning').waitFor();
    expect(await axe(page)).toEqual([]);
  }, 120_000);
});

describeInBrowser('tabs', () => {
  it('are in the URL, so that a reload shows the same one', async ({ page }) => {
    const { task_id, workflow_id } = await finishedRun();
    await signIn(page, `/tasks/${task_id}`);
    for (const [tab, address] of [
      ['Steps', 'view=steps'],
      ['Log', 'view=log'],
      ['Details', 'view=details'],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click();
      await page.waitForURL(`**/tasks/${task_id}?${address}`);
      await page.reload();
      expect(await page.getByRole('tab', { name: tab }).getAttribute('aria-selected')).toBe('true');
    }
    await page.goto(`${here.url}/dashboard/workflows/${workflow_id}?view=steps`);
    await page.getByRole('tab', { name: 'History' }).click();
    expect(new URL(page.url()).search).toBe('?view=steps&tab=history');
  });
});

describeInBrowser('a copy button', () => {
  it('puts ids, JSON, code and the curl command on the clipboard', async ({ page }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: here.url });
    const code = 'print("a")\nprint("b")';
    const { task_id, workflow_id } = await finishedRun(`As follows:\n\n\`\`\`python\n${code}\n\`\`\`\n`);
    await signIn(page, `/tasks/${task_id}`);
    const copied = async (what: string) => {
      await button(page, `Copy ${what}`).first().click();
      await page.getByText('Copied', { exact: true }).waitFor();
      return String(await page.evaluate('navigator.clipboard.readText()'));
    };
    expect((await copied('the code')).trim()).toBe(code);
    await page.getByRole('tab', { name: 'Details' }).click();
    expect(await copied('the id')).toBe(task_id);
    await page.goto(`${here.url}/dashboard/workflows/${workflow_id}`);
    await page.getByText('Send with curl').click();
    await page.getByRole('textbox', { name: 'Prompt' }).fill("it's");
    expect(await copied('the curl command')).toBe(
      `curl ${here.url}/api/workflows/${workflow_id}/prompt \\\n  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d '{"prompt":"it'\\''s"}'`,
    );
    await page.getByRole('textbox', { name: 'Prompt' }).fill('');
  });

  it('works on an origin that is not secure', async ({ page }) => {
    const { task_id } = await finishedRun();
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await signIn(page, `/tasks/${task_id}?view=details`);
    await button(page, 'Copy the id').first().click();
    await page.getByText('Copied', { exact: true }).waitFor();
    await page.goto(`${here.url}/dashboard/skills?q=nothing`);
    await page.getByRole('searchbox', { name: 'Search' }).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Control+V');
    await expect.poll(() => page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe(task_id);
  });
});

describeInBrowser('every time', () => {
  it('is local with its zone, and ISO 8601 in its title', async ({ page }) => {
    const { task_id, workflow_id } = await finishedRun();
    const context = await page.context().browser()!.newContext({ timezoneId: 'Asia/Kolkata' });
    try {
      const there = await context.newPage();
      await signInAsAlice(there, `${here.url}/dashboard/`);
      for (const path of ['/', '/tasks', '/workflows', `/workflows/${workflow_id}`, `/tasks/${task_id}?view=log`]) {
        await there.goto(`${here.url}/dashboard${path}`);
        await there.locator('time').first().waitFor();
        const times = (await there.evaluate(
          "[...document.querySelectorAll('time')].map((it) => [it.textContent, it.title, it.dateTime])",
        )) as string[][];
        for (const [text, title, datetime] of times) {
          expect(text).toMatch(/\d\d:\d\d(:\d\d\.\d{3})? GMT\+5:30/);
          expect(title).toBe(datetime);
          expect(new Date(title!).toISOString()).toBe(title);
        }
      }
      await there.goto(`${here.url}/dashboard/scheduled-agents/new`);
      await there.getByText('In your time zone, GMT+5:30.').first().waitFor();
    } finally {
      await context.close();
    }
  });
});
