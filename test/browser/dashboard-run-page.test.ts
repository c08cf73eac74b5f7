import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it, long } from '../support/browser/browser.ts';
import { chooseMore, faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { ADD, panel, row, rows, searchOf, summed, toolNameOf } from '../support/browser/run-page.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const open = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const fact = (page: Page, name: string) => page.locator(`.facts > div:has(dt:text-is("${name}")) dd`).first();

describeInBrowser('the thinking of a model', () => {
  it('is folded before its answer', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(says('<think>two and two</think>\n\nIt is 4.'));
    const task_id = await here.prompt(workflow_id, 'What is 2 + 2?');
    await here.ended(task_id);
    await open(page, `/tasks/${task_id}`);
    const thinking = page.getByTestId('reasoning');
    await thinking.getByText('Reasoning').waitFor();
    expect(await thinking.getByText('two and two').isVisible()).toBe(false);
    await page.getByText('It is 4.').first().waitFor();
    expect(await page.getByText('<think>').count()).toBe(0);
    await thinking.getByText('Reasoning').click();
    await thinking.getByText('two and two').waitFor();
  });
});

describeInBrowser('the waterfall of a run', () => {
  it('is read by keyboard, with the selected row in the URL', async ({ page }) => {
    const { task_id, name } = await summed(here);
    await open(page, `/tasks/${task_id}?view=steps`);
    await row(page, /^Step 1, scripted completed/).waitFor();
    expect(await rows(page).getByRole('option').count()).toBe(4);
    await rows(page).focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
    await panel(page, `Details of ${name}`).waitFor();
    await expect.poll(() => searchOf(page)).toEqual({ view: 'steps', step: '1-1' });
    const result = panel(page, `Details of ${name}`).getByRole('group', { name: `Result of ${name}` });
    await result.getByText('42').waitFor();
    await page.reload();
    await result.getByText('42').waitFor();
    expect(await row(page, new RegExp(`^${name} completed`)).getAttribute('aria-selected')).toBe('true');
    await rows(page).focus();
    await page.keyboard.press('Home');
    await panel(page, 'Details of Step 1, scripted').getByText('tool_calls').waitFor();
    await page.keyboard.press('ArrowDown');
    await panel(page, 'Details of Retry after model_error').waitFor();
    expect(await faultsOf(page)).toEqual([]);
  }, 120_000);

  it('shows the last step of a run that failed as failed, and nothing of it as running', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(fails(401, { message: 'Wrong key' }));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    await open(page, `/tasks/${task_id}?view=steps&step=1`);
    await row(page, /^Step 1, .* failed/).waitFor();
    await panel(page, /^Details of Step 1/)
      .getByText('Wrong key')
      .waitFor();
    expect(await page.locator('.status[data-tone="busy"], .step-rows .step-bar[data-state="running"]').count()).toBe(0);
    expect(await page.locator('.step-rows .step-bar[data-state="failed"]').count()).toBe(1);
  });

  it('shows the error of a run that failed once, and no cost if no model has answered', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(fails(401, { message: 'Wrong key' }));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    await open(page, `/tasks/${task_id}`);
    await page.getByTestId('transcript').getByText('The run failed before the model replied.').waitFor();
    expect(await page.getByText('Wrong key').count()).toBe(1);
    expect([await fact(page, 'Cost').innerText(), await fact(page, 'Tokens').innerText()]).toEqual(['—', '0 in, 0 out']);
  });

  it('keeps only the rows in sight in the page, and scrolls to the one in the URL', async ({ page }) => {
    const { task_id } = await summed(here);
    await here.core.database.pool.query(
      `INSERT INTO task_steps (task_id, step, attempts, model, finish, started_at, ended_at)
        SELECT $1, n, 1, 'scripted', 'stop', now() + n * interval '1 second', now() + (n + 1) * interval '1 second'
        FROM generate_series(3, 1000) AS n`,
      [task_id],
    );
    await open(page, `/tasks/${task_id}?view=steps&step=900`);
    await row(page, /^Step 900, /).waitFor();
    expect(await row(page, /^Step 900, /).getAttribute('aria-setsize')).toBe('1002');
    expect(await rows(page).getByRole('option').count()).toBeLessThan(100);
    await rows(page).focus();
    await page.keyboard.press('End');
    await row(page, /^Step 1000, /).waitFor();
    await expect.poll(() => searchOf(page).step).toBe('1000');
    const heights = await page.locator('.step-rows .step-row').evaluateAll((all) => all.map((one: any) => one.clientHeight));
    expect(new Set(heights)).toEqual(new Set([24]));
  });
});

describeInBrowser('what the model saw', () => {
  it('shows the whole request of a step, and what is new in it', async ({ page }) => {
    const { task_id, name } = await summed(here);
    await open(page, `/tasks/${task_id}?view=steps&step=2`);
    await page.getByRole('button', { name: 'What the model saw …' }).click();
    const dialog = page.getByRole('dialog', { name: 'What the model saw at step 2' });
    await dialog.getByText('Since step 1: 2 new messages, 0 removed.').waitFor();
    const messages = dialog.getByRole('list', { name: 'Messages' }).getByRole('listitem');
    expect(await messages.count()).toBe(3);
    await dialog.getByText('System prompt', { exact: true }).click();
    await dialog.getByText('You are a helpful assistant.').waitFor();
    await dialog.getByText('1 tool', { exact: true }).click();
    await dialog.getByText('Adds two numbers.').waitFor();
    await dialog
      .getByRole('group', { name: `Parameters of ${name}` })
      .getByText('"integer"')
      .first()
      .waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await dialog.getByRole('switch', { name: 'Only messages that are new since step 1' }).click();
    expect(await messages.count()).toBe(2);
  }, 120_000);
});

describeInBrowser('a call that the program of the prompt executes', () => {
  it('is named as such on both pages, and can be answered in place of the program', async ({ page }) => {
    const model = await here.workflow({ workflow: { title: 'Calls back' } });
    here.model.script(asks({ name: 'measure', args: {} }), says('It is 7 metres.'));
    const tools = [{ type: 'function', function: { name: 'measure', parameters: { type: 'object', properties: {} } } }];
    const messages = [{ role: 'user', content: 'How long is it?' }];
    await here.alice.ok(here.alice.post('/v1/chat/completions', { model, messages, tools }));
    await open(page, '/');
    const waiting = page.getByRole('region', { name: 'Waiting for you' });
    await waiting.getByText('The program that sent the prompt has to send the result of the call to measure.').waitFor();
    await waiting.getByRole('link', { name: 'Calls back' }).click();
    await page.getByText('The program that sent the prompt executes measure and sends the result.').waitFor();
    expect(await page.getByRole('button', { name: 'Retry the call' }).count()).toBe(0);
    expect(await faultsOf(page)).toEqual([]);
    await page.getByLabel('Result, if you mark it as done').fill('7');
    await page.getByRole('button', { name: 'Mark as done' }).click();
    await page.getByTestId('transcript').getByText('It is 7 metres.').waitFor();
  });
});

describeInBrowser('the head of a run', () => {
  it('sends the prompt again, unchanged or changed', async ({ page }) => {
    const { task_id } = await summed(here);
    await open(page, `/tasks/${task_id}`);
    here.model.script(says('Again.'), says('Otherwise.'));
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.getByTestId('transcript').getByText('Again.').waitFor();
    expect(page.url()).not.toContain(task_id);
    await chooseMore(page, 'Run again with changes …');
    const dialog = page.getByRole('dialog', { name: 'Run again with changes' });
    expect(await dialog.getByLabel('Prompt', { exact: true }).inputValue()).toBe('What is 17 + 25?');
    await dialog.getByLabel('Prompt', { exact: true }).fill('And 18 + 25?');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByTestId('transcript').getByText('Otherwise.').waitFor();
    await page.getByTestId('transcript').getByText('And 18 + 25?').waitFor();
    await dialog.waitFor({ state: 'detached' });
  });

  it('shows the prompt as it was sent, and its files, which a run that is sent again gets too', async ({ page }) => {
    const prompt = 'Multiply 2*3 and 4*5,\nthen add _both_.';
    here.model.script(says('26'), says('Again 26'), says('Changed 26'));
    const file = { name: 'numbers.txt', data: `data:text/plain;base64,${Buffer.from('2 3 4 5').toString('base64')}` };
    const first = await here.prompt(await here.workflow(), prompt, { attachments: [file] });
    await here.ended(first);
    await open(page, `/tasks/${first}`);
    expect(await page.getByRole('article', { name: 'Prompt' }).innerText()).toContain(prompt);
    await page.getByText('numbers.txt').waitFor();
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.getByTestId('transcript').getByText('Again 26').waitFor();
    await page.getByText('numbers.txt').waitFor();
    await chooseMore(page, 'Run again with changes …');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove numbers.txt' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByTestId('transcript').getByText('Changed 26').waitFor();
    for (const request of here.model.requests.slice(-3)) expect(JSON.stringify(request.messages)).toContain('2 3 4 5');
  });

  long('links to the forks of a run, and from a fork to its source', async ({ page }) => {
    const { task_id } = await summed(here);
    here.model.script(says('Forked.'));
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 2 }), 201);
    await here.ended(fork.task_id);
    await open(page, `/tasks/${task_id}`);
    await fact(page, 'Forks').getByRole('link', { name: 'from step 2 (completed)' }).click();
    await page.getByTestId('transcript').getByText('Forked.').waitFor();
    await fact(page, 'Forked from').getByRole('link', { name: 'step 2 of another run' }).click();
    await page.waitForURL(`**/tasks/${task_id}`);
  });

  long('has an unknown cost if there is no price, and what is used of the budget', async ({ page }) => {
    const workflow_id = await here.workflow({ workflow: { budget: { max_tokens: 5_000 } } });
    here.model.script(says('Spent.'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    await open(page, `/tasks/${task_id}`);
    await expect.poll(() => fact(page, 'Cost').innerText()).toBe('unknown');
    expect(await fact(page, 'Budget').innerText()).toBe('15 of 5,000 tokens');
  });

  long('copies the id, and a curl command without the token', async ({ page }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: here.url });
    const { task_id } = await summed(here);
    await open(page, `/tasks/${task_id}`);
    const clipboard = () => page.evaluate('navigator.clipboard.readText()');
    await page.getByRole('button', { name: 'Copy id' }).click();
    await expect.poll(clipboard).toBe(task_id);
    await page.getByRole('button', { name: 'Copy curl' }).click();
    await expect.poll(clipboard).toBe(`curl ${here.url}/api/tasks/${task_id} -H "Authorization: Bearer $TOKEN"`);
  });

  it('says what the run does now, stays in sight, and follows the end until the reader scrolls up', async ({ page }) => {
    const workflow_id = await here.workflow();
    const lines = Array.from({ length: 120 }, (_, index) => `Line ${index}.\n\n`).join('');
    here.model.script(hangs(lines));
    const task_id = await here.prompt(workflow_id, 'Talk.');
    await open(page, `/tasks/${task_id}`);
    const now = page.getByRole('region', { name: 'Now' });
    await now.getByText(/^Now: step 1, the model answers \(scripted\), \d/).waitFor();
    await page.getByTestId('partial').getByText('Line 119.').waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
    await now.getByRole('switch', { name: 'Follow the end' }).click();
    await expect.poll(() => page.evaluate('innerHeight + scrollY >= document.documentElement.scrollHeight - 2')).toBe(true);
    const { y } = (await now.boundingBox())!;
    expect(y).toBeGreaterThanOrEqual(40);
    expect(y).toBeLessThan(200);
    expect(await faultsOf(page)).toEqual([]);
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, -400);
    await expect.poll(() => now.getByRole('switch').isChecked()).toBe(false);
    await page.getByRole('button', { name: 'Halt …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Halt' }).click();
    await now.waitFor({ state: 'detached' });
  }, 120_000);

  long('separates the time waiting from the time working', async ({ page }) => {
    const workflow_id = await here.workflow({ tools: [ADD] });
    const name = await toolNameOf(here, workflow_id);
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { a: 1, b: 2 } }), says('Three.'));
    const task_id = await here.prompt(workflow_id);
    await open(page, `/tasks/${task_id}`);
    await page.getByRole('region', { name: 'Now' }).getByText(`it waits for approval of ${name}`).waitFor();
    await fact(page, 'Waiting').waitFor();
    await page.getByRole('tab', { name: 'Steps' }).click();
    await row(page, /^Waiting for approval waiting/).waitFor();
    expect(await page.locator('.step-rows .step-bar[data-fill="decision"]').count()).toBe(1);
    await page.getByRole('button', { name: 'Approve' }).click();
    await row(page, /^Step 2, scripted completed/).waitFor();
    await fact(page, 'Working').waitFor();
  });
});

const WORD = 'Donaudampfschifffahrtsgesellschaft';
const MARKDOWN = `Done:

- [x] read
- [ ] write

| name | ${WORD} | ${WORD} | ${WORD} |
|---|---|---|---|
| one | ${WORD} | ${WORD} | ${WORD} |

\`\`\`mermaid
graph TD; A["<img src=x onerror=alert(1)>"] --> B; ${'B --> C; '.repeat(30)}
\`\`\`

![a chart](https://pictures.example/chart.png) ![](javascript:alert(1)) <img src="https://pictures.example/html.png">

A note.[^1]

[^1]: The source.
`;

describeInBrowser('Markdown of a model', () => {
  it('scrolls wide tables, loads no picture, and passes axe', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(says(MARKDOWN));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    await open(page, `/tasks/${task_id}`);
    const text = page.getByTestId('transcript');
    await text.getByRole('img', { name: 'not done' }).waitFor();
    expect(await text.getByRole('img', { name: 'done', exact: true }).count()).toBe(1);
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await text.getByRole('group', { name: 'Table' }).waitFor();
    // A word that is broken is drawn in several boxes.
    const [overflow, boxes] = (await page.evaluate(`(() => {
      const table = document.querySelector('.prose .table-scroll');
      const boxesOf = (cell) => { const range = new Range(); range.selectNodeContents(cell); return range.getClientRects().length; };
      return [table.scrollWidth - table.clientWidth, [...table.querySelectorAll('th, td')].map(boxesOf)];
    })()`)) as [number, number[]];
    expect(overflow).toBeGreaterThan(0);
    expect(new Set(boxes)).toEqual(new Set([1]));
    expect(await text.locator('img, svg').count()).toBe(0);
    expect(await text.getByRole('link', { name: 'a chart' }).getAttribute('href')).toBe('https://pictures.example/chart.png');
    expect(requested.filter((url) => !url.startsWith(here.url))).toEqual([]);
  }, 120_000);
});
