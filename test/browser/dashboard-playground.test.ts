import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it, long } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { SHARED_WRITE: 'owner' } });
});
afterAll(() => here.stop());

const ADD = 'EFFECT = "write"\ndef add(a: int, b: int) -> int:\n    """Adds two numbers."""\n    return a + b\n';

const read = async (path: string) => here.alice.ok(here.alice.get(`/api/${path}`));

/** A run that adds two numbers and answers. */
async function summed() {
  const workflow_id = await here.workflow({ tools: [ADD], agent: { system_prompt: 'Be kind.' }, workflow: { title: 'Sums' } });
  const { agent_id } = await read(`workflows/${workflow_id}`);
  const { custom_tool_ids } = await read(`agents/${agent_id}`);
  const { name } = await read(`custom-tools/${custom_tool_ids[0]}`);
  here.model.script(asks({ name, args: { a: 17, b: 25 } }), says('The sum is 42.'));
  const task_id = await here.prompt(workflow_id, 'What is 17 + 25?');
  await here.ended(task_id);
  return { workflow_id, agent_id, task_id, name };
}

const playground = (page: Page, task_id: string, step: number) =>
  signInAsAlice(page, `${here.url}/dashboard/tasks/${task_id}/playground?step=${step}`);
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const trial = (page: Page, number: number) => page.getByRole('region', { name: `Trial ${number}` });
const saveDialog = (page: Page) => page.getByRole('dialog', { name: 'Save as a new version of the workflow' });
const openSave = (page: Page) => page.getByRole('button', { name: 'Save as new version …' }).press('Enter');
const pressSave = (page: Page) => saveDialog(page).getByRole('button', { name: 'Save', exact: true }).press('Enter');

describeInBrowser('the playground', () => {
  it('opens from what the model saw, and tries another prompt, model and message', async ({ page }) => {
    const { task_id, name } = await summed();
    await signInAsAlice(page, `${here.url}/dashboard/tasks/${task_id}?view=steps&step=2`);
    await page.getByRole('button', { name: 'What the model saw …' }).click();
    await page.getByRole('link', { name: 'Open in playground' }).click();
    await page.getByRole('heading', { name: /^Playground: step 2 of #/ }).waitFor();
    expect(await field(page, 'System prompt').inputValue()).toBe('Be kind.');
    const canBeClosed = () => page.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))");
    expect(await canBeClosed()).toBe(true);
    await field(page, 'System prompt').fill('Be brief.');
    await expect.poll(canBeClosed).toBe(false);
    await page.getByRole('combobox', { name: 'Reasoning effort' }).selectOption('low');
    await page.getByRole('button', { name: 'Edit tool, result, step 1, call 1-1' }).press('Enter');
    const text = field(page, 'Text of tool, result, step 1, call 1-1');
    expect(await text.inputValue()).toContain('42');
    await text.fill('{"result": 43}');
    await field(page, 'Message before the step (optional)').fill('In one word.');
    await page.getByRole('radio', { name: 'stub' }).press('Space');
    here.model.script(asks({ name, args: { a: 1, b: 1 } }), says('Two.'));
    await page.getByRole('button', { name: 'Run', exact: true }).press('Enter');
    await trial(page, 1).getByText('completed').waitFor();
    const asked = here.model.requests.at(-2)!;
    expect(asked).toMatchObject({ reasoning_effort: 'low' });
    expect(asked.messages.map(({ content }) => content)).toEqual(
      expect.arrayContaining(['{"result": 43}', 'In one word.', expect.stringMatching(/^Be brief\./)]),
    );
    expect(here.model.requests.at(-1)?.messages.at(-1)?.content).toContain('Stub');
    const answer = trial(page, 1).getByRole('group', { name: 'Answer at step 2, compared with the run' });
    expect((await answer.locator('ins').allInnerTexts()).join('')).toContain(name);
    expect((await answer.locator('del').allInnerTexts()).join('')).toContain('sum');
    expect(await faultsOf(page)).toEqual([]);
    await trial(page, 1).getByRole('link', { name: 'Compare the runs' }).click();
    await page.getByRole('heading', { name: 'Compare runs' }).waitFor();
  }, 120_000);

  long('asks before it loses what was typed and not tried, and shows a refusal at its field', async ({ page, troubles }) => {
    troubles.allow(/422/);
    const { task_id } = await summed();
    await playground(page, task_id, 1);
    await page.getByRole('button', { name: 'Edit user, prompt' }).click();
    await field(page, 'Text of user, prompt').fill('');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('alert').getByText('changes.messages.0.content').waitFor();
    await page.getByRole('link', { name: '← Run' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Stay' }).click();
    await page.getByRole('button', { name: 'Undo the edit of user, prompt' }).click();
    await page.getByRole('link', { name: '← Run' }).click();
    await page.getByRole('button', { name: 'What the model saw …' }).waitFor();
  });

  long('shows why a trial failed', async ({ page }) => {
    const { task_id } = await summed();
    await playground(page, task_id, 2);
    here.model.script(fails(401));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await trial(page, 1).getByText('failed', { exact: true }).waitFor();
    await trial(page, 1).getByText('scripted failure').waitFor();
  });
});

describeInBrowser('a trial of the playground is saved', () => {
  it('as a new version, after its differences were shown', async ({ page }) => {
    const { task_id, workflow_id, agent_id } = await summed();
    const versions = async () => (await read(`workflows/${workflow_id}/versions`)) as unknown as { origin: string }[];
    const before = (await versions()).length;
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { description: 'Changed by another screen' }));
    await playground(page, task_id, 2);
    await openSave(page);
    await saveDialog(page).getByText('The workflow has all of these values already.').waitFor();
    await saveDialog(page).getByRole('button', { name: 'Cancel' }).press('Enter');
    await field(page, 'System prompt').fill('Be brief.');
    await page.getByRole('combobox', { name: 'Reasoning effort' }).selectOption('low');
    await page.getByRole('combobox', { name: 'Output format' }).selectOption('json');
    await openSave(page);
    const prompt = saveDialog(page).getByRole('group', { name: 'system_prompt, stored and new' });
    await expect.poll(() => prompt.innerText()).toContain('brief');
    for (const name of ['output format of the workflow', 'reasoning effort of the workflow', 'reasoning effort of the workflow'])
      await saveDialog(page).getByRole('checkbox', { name }).press('Space');
    expect(await faultsOf(page)).toEqual([]);
    await pressSave(page);
    await saveDialog(page).getByText('Saved. The next run').waitFor();
    expect(await read(`agents/${agent_id}`)).toMatchObject({
      system_prompt: 'Be brief.',
      description: 'Changed by another screen',
    });
    expect(await read(`workflows/${workflow_id}`)).toMatchObject({ reasoning_effort: 'low', output_format: 'markdown' });
    expect(await versions()).toHaveLength(before + 1);
    expect((await versions())[0]).toMatchObject({ origin: 'saved', current: true });
    await saveDialog(page).getByRole('link', { name: 'Versions of the workflow' }).click();
    await page.getByRole('group', { name: 'versions of this workflow' }).waitFor();
  }, 120_000);

  it('over what is stored now: if someone changed the same field meanwhile, the difference is shown again', async ({ page }) => {
    const { task_id, agent_id } = await summed();
    await playground(page, task_id, 2);
    await field(page, 'System prompt').fill('Be brief.');
    await field(page, 'Message before the step (optional)').fill('In one word.');
    await openSave(page);
    const prompt = saveDialog(page).getByRole('group', { name: 'system_prompt, stored and new' });
    await prompt.waitFor();
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { system_prompt: 'Be loud.' }));
    await pressSave(page);
    await saveDialog(page).getByText('Changed meanwhile: System prompt').waitFor();
    await expect.poll(() => prompt.innerText()).toContain('loud');
    expect(await read(`agents/${agent_id}`)).toMatchObject({ system_prompt: 'Be loud.' });
    await pressSave(page);
    await saveDialog(page).getByText('Saved. The next run').waitFor();
    expect(await read(`agents/${agent_id}`)).toMatchObject({ system_prompt: 'Be brief.' });
    // A message is part of no version, so it would still be lost.
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: '← Run' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
  }, 60_000);

  it("in a copy of the agent, if the agent is somebody else's", async ({ page, troubles }) => {
    troubles.allow(/403/);
    const { provider_id } = await read(`agents/${(await summed()).agent_id}`);
    const values = { name: "bob's agent", system_prompt: 'Be mine.', provider_id };
    const { id: agent_id } = await here.bob.ok(here.bob.post('/api/agents', values));
    const workflow_id = await here.workflow({ workflow: { agent_id } });
    here.model.script(says('Mine.'), says('Brief.'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const changes = { system_prompt: 'Be brief.' };
    const forked = await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 1, changes }), 201);
    await here.ended(forked.task_id);
    await playground(page, forked.task_id, 1);
    await openSave(page);
    await pressSave(page);
    await saveDialog(page).getByText('was created by someone else').waitFor();
    await saveDialog(page).getByRole('radio', { name: 'Make a copy' }).press('Space');
    await pressSave(page);
    await saveDialog(page).getByText('Saved. The next run').waitFor();
    const saved = await read(`workflows/${workflow_id}`);
    expect(saved.agent_id).not.toBe(agent_id);
    expect(await read(`agents/${saved.agent_id}`)).toMatchObject({
      ...{ name: "bob's agent (from playground)", system_prompt: 'Be brief.', provider_id },
    });
    expect(await read(`agents/${agent_id}`)).toMatchObject({ system_prompt: 'Be mine.' });
  }, 60_000);
});
