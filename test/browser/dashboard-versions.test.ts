import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it, long } from '../support/browser/browser.ts';
import { chooseMore, darken, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let office: string;
const runs: string[] = [];

const PROMPT = Array.from({ length: 12 }, (_, line) => `Rule ${line + 1}: answer politely.`);

beforeAll(async () => {
  here = await startTestInstallation();
  const tools = ['def doubled(n: int) -> int:\n    """Doubles."""\n    return n * 2\n'];
  office = await here.workflow({
    tools,
    agent: { system_prompt: PROMPT.join('\n') },
    workflow: { title: 'Office', max_turns: 4 },
  });
  const tool = (await here.alice.ok(here.alice.get('/api/custom-tools')))[0].name;
  const run = async () => {
    const id = await here.prompt(office, 'Double two.');
    await here.ended(id);
    runs.push(id);
  };
  here.model.script(asks({ name: tool, args: { n: 2 } }), says('The answer is four.'));
  await run();
  await here.alice.ok(here.alice.put(`/api/workflows/${office}`, { max_turns: 9 }));
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${office}`));
  const changed = PROMPT.with(5, 'Rule 6: answer in verse.').join('\n');
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { system_prompt: changed }));
  here.model.script(says('The answer is 4.'));
  await run();
});
afterAll(() => here.stop());

const width = 'document.documentElement.scrollWidth - innerWidth';

describeInBrowser('the versions of a workflow', () => {
  it('are listed with who, when and their runs, and show what changed', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/workflows/${office}?tab=versions`);
    const table = page.getByRole('group', { name: 'versions of this workflow' });
    await expect.poll(() => table.getByRole('row').count()).toBe(4);
    expect(await table.getByRole('row').nth(1).innerText()).toMatch(
      /^Version 3\s+current\s.*first run by alice\s+1 run\s+—\s+—$/s,
    );
    expect(await table.getByRole('row').nth(2).innerText()).toMatch(/^Version 2\s.*saved by alice\s+none\s+—\s+—$/s);
    const prompt = page.getByRole('group', { name: 'agent.system_prompt, before and after' });
    await expect.poll(() => prompt.innerText()).toContain('− Rule 6: answer politely.\n+ Rule 6: answer in verse.');
    expect(await prompt.innerText()).toContain('… 2 equal lines …');
    expect(await axe(page)).toEqual([]);
    await page.getByLabel('Changes since').selectOption('1');
    await page.getByRole('group', { name: 'settings.max_turns, before and after' }).waitFor();
    expect(page.url()).toContain('against=1');
    await page.getByRole('link', { name: 'Version 2' }).click();
    await page.getByRole('region', { name: 'Version 2' }).waitFor();
    await page.getByRole('link', { name: '1 run', exact: true }).first().click();
    await page.getByRole('button', { name: 'Version 3 only' }).waitFor();
    await expect.poll(() => page.getByRole('group', { name: 'tasks' }).getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Version 3 only' }).click();
    await expect.poll(() => page.getByRole('group', { name: 'tasks' }).getByRole('row').count()).toBe(3);
  });

  long('have no axe violations in the dark theme on a phone', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await signInAsAlice(page, `${here.url}/dashboard/workflows/${office}?tab=versions&version=3&against=1`);
    await darken(page);
    await page.getByRole('group', { name: 'agent.system_prompt, before and after' }).waitFor();
    expect(await axe(page)).toEqual([]);
    expect(Number(await page.evaluate(width))).toBe(0);
  });

  it('are restored by keyboard, with a question about the agent', async ({ page, troubles }) => {
    troubles.allow(/409/);
    await signInAsAlice(page, `${here.url}/dashboard/workflows/${office}?tab=versions&version=1`);
    await page.getByRole('button', { name: 'Restore …' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Restore version 1' });
    await dialog.getByRole('button', { name: 'Restore', exact: true }).press('Enter');
    await dialog.getByText(/has changed since version 1 \(system_prompt\)/).waitFor();
    expect(await axe(page)).toEqual([]);
    await dialog.getByRole('radio', { name: 'Keep it' }).press('Space');
    await dialog.getByRole('button', { name: 'Restore', exact: true }).press('Enter');
    await dialog.getByText('Version 1 was restored.').waitFor();
    await dialog.getByRole('group', { name: 'agent.system_prompt, before and after' }).waitFor();
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    const max_turns = async () => (await here.alice.ok(here.alice.get(`/api/workflows/${office}`))).max_turns;
    expect(await max_turns()).toBe(4);
    // The agent is as it was in this version: there is nothing to ask, and no difference to show.
    await page.goto(`${here.url}/dashboard/workflows/${office}?tab=versions&version=3`);
    await page.getByRole('button', { name: 'Restore …' }).click();
    const other = page.getByRole('dialog', { name: 'Restore version 3' });
    await other.getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByText('Version 3 was restored.', { exact: true }).waitFor();
    await other.waitFor({ state: 'detached' });
    expect(await max_turns()).toBe(9);
  });
});

describeInBrowser('two runs', () => {
  it('are compared from the page of one of them', async ({ page }) => {
    await signInAsAlice(page, `${here.url}/dashboard/tasks/${runs[0]}`);
    await chooseMore(page, 'Compare with …');
    const dialog = page.getByRole('dialog', { name: 'Compare this run with others' });
    expect(await dialog.getByRole('button', { name: 'Compare', exact: true }).isDisabled()).toBe(true);
    await dialog.getByRole('checkbox').first().check();
    await dialog.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByRole('heading', { name: 'Compare runs' }).waitFor();
    expect(page.url()).toContain(`/runs/compare?ids=${runs[0]},${runs[1]}`);
    expect(await page.title()).toBe(`Compare #${runs[0]?.slice(-4)} #${runs[1]?.slice(-4)} · Perdura`);
    const figures = page.getByRole('group', { name: 'figures' });
    await expect.poll(() => figures.getByRole('row', { name: 'Version' }).innerText()).toMatch(/Version 1\s+Version 3$/);
    expect(await figures.getByRole('row', { name: 'Tool calls' }).innerText()).toMatch(/1 call\s+0 calls$/);
    expect(await figures.locator('.differs').count()).toBe(3);
    expect(await page.getByRole('group', { name: 'steps' }).getByRole('row').nth(2).innerText()).toMatch(
      /^Step 2\s+scripted · .*—$/s,
    );
    const answer = page.getByRole('group', { name: 'Answer, Run B' });
    expect(await answer.locator('del').allInnerTexts()).toEqual(['four']);
    expect(await answer.locator('ins').allInnerTexts()).toEqual(['4']);
    await page
      .getByRole('group', { name: 'Conversation, Run B' })
      .getByText(/^− → t\d+_doubled/)
      .waitFor();
    expect(await axe(page)).toEqual([]);
  });

  long('have no axe violations in the dark theme on a phone', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await signInAsAlice(page, `${here.url}/dashboard/runs/compare?ids=${runs.join(',')}`);
    await darken(page);
    await page.getByRole('group', { name: 'Conversation, Run B' }).waitFor();
    expect(await axe(page)).toEqual([]);
    expect(Number(await page.evaluate(width))).toBe(0);
  });

  long('are asked for if the address names fewer, and are reported if one does not exist', async ({ page, troubles }) => {
    troubles.allow(/404/);
    await signInAsAlice(page, `${here.url}/dashboard/runs/compare?ids=${runs[0]}`);
    await page.getByText('Choose at least two runs').waitFor();
    await page.goto(`${here.url}/dashboard/runs/compare?ids=${runs[0]},01900000-0000-7000-8000-000000000000`);
    await page.getByText('Not found').waitFor();
  });
});
