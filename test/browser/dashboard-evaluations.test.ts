import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it, long } from '../support/browser/browser.ts';
import { chooseMore, faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { answerByPrompt, openEvaluations } from '../support/runs/evaluations.ts';

let here: TestInstallation;
let evals: ReturnType<typeof openEvaluations>;
let workflow_id: string;
const CAPITALS = { France: 'Paris', Spain: 'Madrid', Italy: 'Rome' };

beforeAll(async () => {
  here = await startTestInstallation();
  evals = openEvaluations(here);
  workflow_id = await here.workflow({ workflow: { title: 'Geographer' } });
});
afterAll(() => here?.stop());

const signIn = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const read = (path: string): Promise<any> => here.alice.ok(here.alice.get(`/api/${path}`));
const fact = (page: Page, name: string) =>
  page.locator('dl.facts > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) }).locator('dd');
const group = (page: Page, name: string) => page.getByRole('group', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
/** A closed entry of a list, by its text. */
const entry = (page: Page, text: string) => page.locator('summary').filter({ hasText: text });

async function run(prompt: string): Promise<string> {
  here.model.always(answerByPrompt(CAPITALS));
  const id = await here.prompt(workflow_id, prompt);
  await here.ended(id);
  return id;
}

async function upload(page: Page, name: string, content: string): Promise<void> {
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('dialog').getByRole('button', { name: 'Bundle' }).click();
  await (await chosen).setFiles({ name, mimeType: 'application/json', buffer: Buffer.from(content) });
}

describeInBrowser('a run', () => {
  it('is scored by keyboard with a thumb and a number, and a score is deleted', async ({ page }) => {
    const id = await run('France');
    await signIn(page, `/tasks/${id}`);
    await chooseMore(page, 'Score …', 'keys');
    const dialog = page.getByRole('dialog', { name: 'Score this run' });
    await dialog.getByText('No scores yet.').waitFor();
    await dialog.getByRole('radio', { name: 'Thumb up' }).press('Space');
    await dialog.getByLabel('Note (optional)').fill('Short and right.');
    await button(page, 'Save score').press('Enter');
    await dialog.getByRole('cell', { name: 'Short and right.' }).waitFor();
    await dialog.getByRole('radio', { name: 'A number' }).press('Space');
    await dialog.getByLabel('Number', { exact: true }).fill('3.5');
    await dialog.getByLabel('Number', { exact: true }).press('Enter');
    await dialog.getByRole('cell', { name: '3.5', exact: true }).waitFor();
    expect(await read(`tasks/${id}/scores`)).toMatchObject([
      { thumb: null, value: 3.5, note: '' },
      { thumb: 'up', value: null, note: 'Short and right.' },
    ]);
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Delete thumb up').press('Enter');
    await dialog.getByRole('cell', { name: 'Short and right.' }).waitFor({ state: 'detached' });
    expect(await read(`tasks/${id}/scores`)).toMatchObject([{ value: 3.5 }]);
    await page.keyboard.press('Escape');
    await expect.poll(() => fact(page, 'Scores').innerText()).toBe('3.5');
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('More actions');
  });

  it('is added to a dataset that is created on the way, with its answer or another expected one', async ({ page }) => {
    const id = await run('Spain');
    await signIn(page, `/tasks/${id}`);
    await chooseMore(page, 'Add to dataset …');
    const dialog = page.getByRole('dialog', { name: 'Add this run to a dataset' });
    await dialog.getByRole('combobox', { name: 'Dataset' }).click();
    await page.getByRole('option', { name: '+ New dataset …' }).click();
    const making = page.getByRole('dialog', { name: 'New dataset' });
    await making.getByRole('textbox', { name: 'Name' }).fill('Capitals of Europe');
    await button(page, 'Create dataset').click();
    await making.waitFor({ state: 'detached' });
    expect(await dialog.getByLabel('Expected answer').inputValue()).toBe('Madrid');
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Add').click();
    await dialog.getByText('The run was added.').waitFor();
    await button(page, 'Close').last().click();
    await chooseMore(page, 'Add to dataset …');
    await dialog.getByRole('combobox', { name: 'Dataset' }).click();
    await page.getByRole('option', { name: 'Capitals of Europe' }).click();
    await dialog.getByLabel('Expected answer').fill('["Madrid"');
    await dialog.getByLabel('It is JSON').check();
    await button(page, 'Add').click();
    await dialog.getByText(/^Not valid JSON: /).waitFor();
    await dialog.getByLabel('Expected answer').fill('["Madrid"]');
    await button(page, 'Add').click();
    await dialog.getByRole('link', { name: 'Open the dataset' }).click();
    await heading(page, 'Capitals of Europe').waitFor();
    await expect.poll(() => entry(page, 'Spain').count()).toBe(2);
    const [{ id: dataset_id }] = await read('datasets?q=Europe');
    expect(await read(`datasets/${dataset_id}/items`)).toMatchObject([
      { prompt: 'Spain', expected: ['Madrid'], source_task_id: id },
      { prompt: 'Spain', expected: 'Madrid', source_task_id: id },
    ]);
    await entry(page, '"Madrid"').click();
    await page.getByRole('link', { name: 'a run' }).filter({ visible: true }).click();
    await page.getByRole('heading', { level: 1, name: /^Geographer · #/ }).waitFor();
  });
});

describeInBrowser('a dataset', () => {
  it('is created, renamed, filled by hand and from a bundle, and deleted', async ({ page, troubles }) => {
    troubles.allow(/404|422/);
    const bundle = JSON.stringify(await read(`tasks/${await run('Italy')}/bundle`));
    await signIn(page, '/datasets/new');
    await page.getByRole('textbox', { name: 'Name' }).fill('First name');
    await button(page, 'Create dataset').click();
    await heading(page, 'First name').waitFor();
    await page.getByText('No items yet.').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('tab', { name: 'Evaluations' }).click();
    await page.getByText('No items to evaluate yet.').waitFor();
    await page.getByRole('link', { name: 'Go to items' }).click();

    await button(page, 'Add item …').click();
    await page.getByLabel('Prompt').fill('What is 6 × 7?');
    await page.getByLabel('Expected answer').fill('[42');
    await page.getByLabel('It is JSON').check();
    await button(page, 'Add').click();
    await page.getByText(/^Not valid JSON: /).waitFor();
    await page.getByLabel('Expected answer').fill('42');
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Add').click();
    await entry(page, 'What is 6 × 7?').waitFor();
    await button(page, 'Import bundle …').click();
    await upload(page, 'broken.json', '{');
    await button(page, 'Import').click();
    await page.getByText(/^Not valid JSON: /).waitFor();
    await upload(page, 'other.json', '{"format": "something else"}');
    await button(page, 'Import').click();
    await page
      .getByRole('alert')
      .getByText(/format/)
      .waitFor();
    await upload(page, 'run.json', bundle);
    await button(page, 'Import').click();
    await entry(page, 'Italy').waitFor();
    await expect.poll(() => fact(page, 'Items').innerText()).toBe('2');
    await entry(page, 'Italy').press('Enter');
    await group(page, 'Expected answer').getByText('Rome').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Delete …').last().click();
    await page.getByText('“Italy” is deleted with its results.').waitFor();
    await button(page, 'Delete').click();
    await entry(page, 'Italy').waitFor({ state: 'detached' });

    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Second name');
    await button(page, 'Save changes').click();
    await heading(page, 'Second name').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('link', { name: '← Datasets' }).click();
    await page.getByRole('link', { name: 'Second name' }).click();
    await button(page, 'Delete …').first().click();
    await page.getByText('with its items and evaluations').waitFor();
    await button(page, 'Delete').click();
    await heading(page, 'Datasets').waitFor();
    expect(await read('datasets?q=name')).toEqual([]);
  }, 120_000);

  long('shows all of its items in pages', async ({ page }) => {
    const id = await evals.dataset(Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`question ${at + 1}`, 'x'])));
    await signIn(page, `/datasets/${id}`);
    await expect.poll(() => entry(page, 'question').count()).toBe(50);
    await button(page, 'Show more').click();
    await expect.poll(() => entry(page, 'question').count()).toBe(51);
  });
});

describeInBrowser('an evaluation', () => {
  it('is started by keyboard, shows its results, and names what regressed the next time', async ({ page }) => {
    const dataset = await evals.dataset(CAPITALS);
    const other = here.unique('Atlas');
    await here.workflow({ workflow: { title: other } });
    here.model.always(answerByPrompt({ France: 'paris', Spain: 'Madrid', Italy: 'Milan' }));
    await signIn(page, `/datasets/${dataset}?tab=evaluations`);
    await page.getByText('No evaluations yet.').waitFor();
    await button(page, 'Start evaluation …').press('Enter');
    await page.getByRole('combobox', { name: 'Workflow' }).fill(other);
    await page.getByRole('option', { name: other }).click();
    await page.getByLabel('Version').selectOption('version 1, current');
    await page.getByRole('combobox', { name: 'Workflow' }).fill('Geog');
    await page.getByRole('option', { name: 'Geographer' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByLabel('Version').inputValue()).toBe('');
    await page.getByLabel('Ignore case').press('Space');
    await button(page, 'Add another').press('Enter');
    await page.getByLabel('Type').last().selectOption('regex');
    await page.getByLabel('Pattern').fill('^[A-Za-z]+$');
    await page.getByLabel('Tool calls').selectOption('stub');
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Start').press('Enter');
    await heading(page, 'Evaluation of Geographer').waitFor();
    expect(await page.title()).toMatch(/^Evaluation of Geographer · #\w{4} · Perdura$/);
    await expect.poll(() => fact(page, 'Status').innerText(), { timeout: 60_000 }).toBe('completed');
    expect(await fact(page, 'Pass rate').innerText()).toBe('66.6 %');
    expect(await fact(page, 'Passed').innerText()).toBe('2 of 3');
    const [first] = await read(`datasets/${dataset}/runs`);
    expect(first).toMatchObject({
      ...{ effects: 'stub', parallel: 4, workflow_id },
      graders: [
        { type: 'exact', ignore_case: true },
        { type: 'regex', pattern: '^[A-Za-z]+$' },
      ],
    });
    await entry(page, 'Graders: exact, regex').click();
    await group(page, 'Settings of regex').getByText('^[A-Za-z]+$').waitFor();
    await entry(page, 'Italy').getByText('The answer is not the expected one').waitFor();
    await entry(page, 'Italy').press('Enter');
    await group(page, 'Answer').filter({ visible: true }).getByText('Milan').waitFor();
    expect(await group(page, 'Difference of the answer').innerText()).toMatch(/^− Rome\s+\+ Milan$/);
    expect(await faultsOf(page)).toEqual([]);

    here.model.always(answerByPrompt({ France: 'Paris', Spain: 'Barcelona', Italy: 'Rome' }));
    await page.getByRole('link', { name: '← dataset' }).click();
    await button(page, 'Start evaluation …').click();
    expect(await page.getByLabel('Pattern').inputValue()).toBe('^[A-Za-z]+$');
    await button(page, 'Start').click();
    const regressions = page.getByRole('region', { name: 'Regressions' });
    await regressions.getByRole('cell', { name: 'Spain' }).waitFor({ timeout: 60_000 });
    expect(await regressions.getByRole('row').count()).toBe(2);
    await page.getByLabel('Status').selectOption('failed');
    await expect.poll(() => group(page, 'results').locator('summary').count()).toBe(1);
    expect(await faultsOf(page)).toEqual([]);
    await regressions.getByRole('link', { name: 'compare' }).click();
    await group(page, 'Answer, Run B').getByText('+ Barcelona').waitFor();
    await page.goBack();
    await entry(page, 'Spain').click();
    await page.getByRole('link', { name: 'Open the run' }).click();
    await page.getByRole('article', { name: 'Reply' }).getByText('Barcelona').waitFor();
  }, 150_000);

  it('shows how its last items ended, although they ended after the last look at them', async ({ page }) => {
    const dataset = await evals.dataset({ France: 'Paris' });
    const goOn = Promise.withResolvers<void>();
    here.model.always(says('Paris', { until: goOn.promise }));
    const path = await evals.begin(dataset, { workflow_id });
    let has_ended = false;
    await page.route(/\/api\/datasets\/[\w-]+\/runs\/[\w-]+$/, async (route) => {
      const response = await route.fetch();
      has_ended = (await response.json()).status !== 'running';
      await route.fulfill({ response });
    });
    // Until the page learns that the evaluation has ended, it sees the results as they were at first.
    let first: string | undefined;
    await page.route(/\/results\?/, async (route) => {
      if (has_ended) return route.continue();
      const response = await route.fetch();
      first ??= await response.text();
      await route.fulfill({ response, body: first });
    });
    await signIn(page, path.replace('/api', ''));
    await entry(page, 'France')
      .getByText(/^(pending|running)$/)
      .waitFor();
    goOn.resolve();
    await expect.poll(() => fact(page, 'Status').innerText(), { timeout: 60_000 }).toBe('completed');
    await entry(page, 'France').getByText('passed').waitFor();
  }, 120_000);

  long(
    'is compared with the earlier evaluation that was chosen',
    async ({ page }) => {
      const dataset = await evals.dataset(CAPITALS);
      for (const Spain of ['Madrid', 'Barcelona']) {
        here.model.always(answerByPrompt({ ...CAPITALS, Spain }));
        await evals.ended(await evals.begin(dataset, { workflow_id }));
      }
      await signIn(page, `/datasets/${dataset}?tab=evaluations`);
      await button(page, 'Start evaluation …').click();
      await page.getByRole('combobox', { name: 'Workflow' }).click();
      await page.getByRole('option', { name: 'Geographer', exact: true }).click();
      const baseline = page.getByLabel('Find regressions against');
      expect(await baseline.locator('option').allInnerTexts()).toEqual([
        'the last completed evaluation of the workflow',
        expect.stringMatching(/^Geographer, .+, 66.6 % passed$/),
        expect.stringMatching(/^Geographer, .+, 100 % passed$/),
      ]);
      await baseline.selectOption({ index: 2 });
      await button(page, 'Start').click();
      const regressions = page.getByRole('region', { name: 'Regressions' });
      await regressions.getByRole('cell', { name: 'Spain' }).waitFor({ timeout: 60_000 });
    },
    90_000,
  );

  long(
    'of an earlier version shows in the versions of the workflow, next to the scores of its runs',
    async ({ page }) => {
      const judged = await here.workflow({ workflow: { title: 'Judged', max_turns: 3 } });
      here.model.always(answerByPrompt(CAPITALS));
      const task_id = await here.prompt(judged, 'France');
      await here.ended(task_id);
      for (const score of [{ thumb: 'up' }, { thumb: 'down' }, { value: 2 }])
        await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/scores`, score), 201);
      await here.alice.ok(here.alice.put(`/api/workflows/${judged}`, { max_turns: 4 }));
      const dataset = await evals.dataset(CAPITALS);
      await signIn(page, `/datasets/${dataset}?tab=evaluations`);
      await button(page, 'Start evaluation …').click();
      await page.getByRole('combobox', { name: 'Workflow' }).fill('Judged');
      await page.getByRole('option', { name: 'Judged' }).click();
      await page.getByLabel('Version').selectOption('version 1');
      await button(page, 'Start').click();
      await expect.poll(() => fact(page, 'Pass rate').innerText(), { timeout: 60_000 }).toBe('100 %');
      await page.getByRole('link', { name: 'Version 1' }).click();
      const rows = group(page, 'versions of this workflow').getByRole('row');
      await expect.poll(() => rows.nth(2).innerText()).toMatch(/^Version 1\s.*1 run\s+1 up, 1 down, mean 2\s+100 %$/s);
      expect(await rows.nth(1).innerText()).toMatch(/^Version 2\s.*none\s+—\s+—$/s);
      expect(await faultsOf(page)).toEqual([]);
      await page.setViewportSize({ width: 1280, height: 800 });
      await rows.nth(2).getByRole('link', { name: '100 %' }).click();
      await heading(page, 'Evaluation of Judged').waitFor();
    },
    120_000,
  );

  long('shows how far it is, and is halted', async ({ page }) => {
    const dataset = await evals.dataset({ quick: 'x', slow: 'x' });
    here.model.always((response, request) =>
      (JSON.stringify(request.messages).includes('quick') ? says('x') : hangs('Half'))(response, request),
    );
    const path = await evals.begin(dataset, { workflow_id });
    await signIn(page, path.replace('/api', ''));
    await page.getByText('1 of 2 items done').waitFor();
    expect(await page.getByRole('progressbar', { name: 'Items done' }).getAttribute('aria-valuenow')).toBe('50');
    await entry(page, 'quick').getByText('passed').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await button(page, 'Halt').click();
    await expect.poll(() => fact(page, 'Status').innerText()).toBe('halted');
    await entry(page, 'slow').getByText('halted').waitFor();
    expect(await fact(page, 'Pass rate').innerText()).toBe('—');
  });

  long('that is refused shows the reason at its field', async ({ page, troubles }) => {
    troubles.allow(/422/);
    const dataset = await evals.dataset({ a: 'x' });
    await signIn(page, `/datasets/${dataset}?tab=evaluations`);
    await button(page, 'Start evaluation …').click();
    await button(page, 'Start').click();
    await page.getByText('Workflow is required').waitFor();
    await page.getByRole('combobox', { name: 'Workflow' }).fill('Geographer');
    await page.getByRole('option', { name: 'Geographer' }).click();
    await page.getByLabel('Type').selectOption('regex');
    await page.getByLabel('Pattern').fill('(');
    await button(page, 'Start').click();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('graders.0.pattern');
    expect(await page.getByLabel('Pattern').getAttribute('aria-invalid')).toBe('true');
  });
});
