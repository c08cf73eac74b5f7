import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { ADD, panel, row, rows, searchOf, summed, toolNameOf } from '../support/browser/run-page.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const open = (page: Page, path: string) => signInAsAlice(page, `${here.url}/dashboard${path}`);

/** A run that waits for the approval of a call. */
async function asking(title: string) {
  const workflow_id = await here.workflow({ tools: [ADD], workflow: { title } });
  const name = await toolNameOf(here, workflow_id);
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  here.model.scriptPrompt(title, asks({ name, args: { a: 3, b: 4 } }), says('Seven.'));
  const task_id = await here.prompt(workflow_id, title);
  await expect.poll(async () => (await here.alice.get(`/api/tasks/${task_id}`)).body.status, { timeout: 30_000 }).toBe('waiting');
  return { task_id, name };
}

const focused = (page: Page) => page.evaluate('document.activeElement.innerText');
const topOf = async (target: ReturnType<Page['locator']>) => (await target.boundingBox())!.y;

/** How much of the run is hidden before and after the part that the axis shows, in percent. */
const shownPart = (page: Page) =>
  page
    .locator('.step-window')
    .evaluate(({ style }: any) => [style.left, style.right].map((part) => Math.round(parseFloat(part) * 10) / 10));

describeInBrowser('a run that waits for a person', () => {
  it('is decided by keys: a letter leads to the button, and Enter presses it', async ({ page }) => {
    const [first, second] = [await asking('Pay the first'), await asking('Pay the second')];
    await open(page, `/tasks/${first.task_id}`);
    const decision = page.getByRole('region', { name: 'Waiting for you' });
    await decision.getByRole('button', { name: 'Approve' }).waitFor();
    await page.keyboard.press('d');
    expect(await focused(page)).toBe('Deny');
    await decision.getByLabel('Message to the model').fill('a');
    expect(await decision.getByLabel('Message to the model').inputValue()).toBe('a');
    await decision.getByLabel('Message to the model').fill('');
    await page.getByRole('tab', { name: 'Conversation' }).focus();
    await page.keyboard.press('a');
    expect(await focused(page)).toBe('Approve');
    expect((await here.alice.get(`/api/tasks/${first.task_id}`)).body.status).toBe('waiting');
    // No key works behind a dialog, and none leads before the first.
    await page.getByRole('button', { name: 'Halt …' }).click();
    await expect.poll(() => focused(page)).toBe('Cancel');
    for (const key of ['d', 'j']) await page.keyboard.press(key);
    expect(await focused(page)).toBe('Cancel');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('k');
    await page.getByRole('heading', { level: 1, name: /^Pay the first · #/ }).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { level: 1, name: /^Pay the second · #/ }).waitFor();
    expect(await page.title()).toBe(`Pay the second · #${second.task_id.slice(-4)} · Perdura`);
    await page.keyboard.press('k');
    await page.getByRole('heading', { level: 1, name: /^Pay the first · #/ }).waitFor();
    await decision.getByRole('button', { name: 'Approve' }).waitFor();
    await page.keyboard.press('a');
    await page.keyboard.press('Enter');
    await page.getByTestId('transcript').getByText('Seven.').waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { level: 1, name: /^Pay the second · #/ }).waitFor();
    expect((await here.alice.get(`/api/tasks/${second.task_id}`)).body.status).toBe('waiting');
    await here.alice.ok(here.alice.post(`/api/tasks/${second.task_id}/stop`, {}), 202);
    await here.ended(second.task_id);
  }, 120_000);

  it('has its decision before everything else on a phone, and its facts last', async ({ page }) => {
    const { task_id } = await asking('Pay by phone');
    await page.setViewportSize({ width: 390, height: 800 });
    await open(page, `/tasks/${task_id}`);
    const decision = page.getByRole('region', { name: 'Waiting for you' });
    await decision.waitFor();
    expect(await topOf(decision)).toBeLessThan(260);
    const order = [
      decision,
      page.getByRole('region', { name: 'Now' }),
      page.getByRole('tablist'),
      page.getByRole('complementary'),
    ];
    const tops = await Promise.all(order.map(topOf));
    expect(tops).toEqual(tops.toSorted((one, other) => one - other));
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Run again', exact: true }).waitFor();
    expect(await page.getByRole('menuitem', { name: /Halt/ }).count()).toBe(0);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`, {}), 202);
    await here.ended(task_id);
  }, 120_000);
});

describeInBrowser('Back on the page of a run', () => {
  it('closes a step, then leads to the conversation, and only then leaves the run', async ({ page }) => {
    const { task_id, name } = await summed(here);
    await open(page, '/tasks');
    await page.getByRole('link', { name: 'What is 17 + 25?' }).first().click();
    await page.getByTestId('transcript').getByText('It is 42.').waitFor();
    await page.getByRole('tab', { name: 'Steps' }).click();
    await row(page, /^Step 1, /).click();
    await row(page, new RegExp(`^${name} `)).click();
    await panel(page, `Details of ${name}`).waitFor();
    await page.goBack();
    await panel(page, `Details of ${name}`).waitFor({ state: 'detached' });
    expect(searchOf(page)).toEqual({ view: 'steps' });
    await row(page, /^Step 1, /).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => searchOf(page)).toEqual({ view: 'steps' });
    await page.goBack();
    await page.getByTestId('transcript').getByText('It is 42.').waitFor();
    expect(page.url()).toContain(task_id);
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  }, 120_000);
});

describeInBrowser('the zoom of the waterfall', () => {
  it('shows a part of the run by keys and buttons, or what the rows in sight need', async ({ page }) => {
    const { task_id, name } = await summed(here);
    await open(page, `/tasks/${task_id}?view=steps&step=1-1`);
    await panel(page, `Details of ${name}`).waitFor();
    const bar = row(page, new RegExp(`^${name} `)).locator('.step-bar');
    const share = async () => {
      const track = (await row(page, new RegExp(`^${name} `))
        .locator('.step-track')
        .boundingBox())!;
      return (await bar.boundingBox())!.width / track.width;
    };
    const whole = page.getByRole('button', { name: 'Whole run' });
    expect(await whole.getAttribute('aria-pressed')).toBe('true');
    const before = await share();
    await rows(page).focus();
    await page.keyboard.press('s');
    await expect.poll(share).toBeGreaterThan(0.85);
    expect(await whole.getAttribute('aria-pressed')).toBe('false');
    await page.keyboard.press('-');
    await expect.poll(share).toBeLessThan(0.6);
    await page.keyboard.press('0');
    await expect.poll(share).toBeCloseTo(before, 2);
    await page.getByRole('button', { name: 'Selection' }).click();
    await expect.poll(share).toBeGreaterThan(0.85);
    await page.getByRole('button', { name: 'Rows in sight' }).click();
    await expect.poll(share).toBeLessThan(0.85);
    await page.getByRole('list', { name: 'Where the time went' }).getByText('Wait before a retry').waitFor();
    await row(page, /^Step 1, scripted completed 2 attempts/).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await rows(page).focus();
    await page.keyboard.press('0');
    await expect.poll(() => shownPart(page)).toEqual([0, 0]);
    await page.keyboard.press('s');
    await page.keyboard.press('Control+=');
    expect(await shownPart(page)).toEqual([0, 0]);
    await page.keyboard.press('+');
    await expect.poll(() => shownPart(page)).toEqual([25, 25]);
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => shownPart(page)).toEqual([12.5, 37.5]);
    for (const _ of [1, 2]) await page.keyboard.press('ArrowRight');
    await expect.poll(() => shownPart(page)).toEqual([37.5, 12.5]);
    const figures = row(page, /^Step 1, /)
      .locator('.step-figure')
      .filter({ visible: true });
    await expect.poll(() => figures.allInnerTexts()).toEqual(['10', '5', '—', expect.stringMatching(/s$/)]);
    expect(await faultsOf(page)).toEqual([]);
  }, 120_000);

  it('shows the part of the run that is dragged over, and all of it after a click', async ({ page }) => {
    const { task_id } = await summed(here);
    await open(page, `/tasks/${task_id}?view=steps`);
    await row(page, /^Step 1, /).waitFor();
    const { x, y, width, height } = (await page.locator('.step-overview').boundingBox())!;
    const moveTo = (part: number) => page.mouse.move(x + width * part, y + height / 2);
    await moveTo(0.8);
    await page.mouse.down();
    await moveTo(0.3);
    await expect.poll(() => shownPart(page)).toEqual([30, 20]);
    await moveTo(0.2);
    await page.mouse.up();
    await moveTo(0.5);
    await expect.poll(() => shownPart(page)).toEqual([20, 20]);
    expect(await page.getByRole('button', { name: 'Whole run' }).getAttribute('aria-pressed')).toBe('false');
    // A drag that began elsewhere changes nothing.
    await page.mouse.move(x, y - 40);
    await page.mouse.down();
    await moveTo(0.5);
    await page.mouse.up();
    expect(await shownPart(page)).toEqual([20, 20]);
    await page.mouse.down();
    await page.mouse.up();
    await expect.poll(() => shownPart(page)).toEqual([0, 0]);
    expect(await page.getByRole('button', { name: 'Whole run' }).getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('tab', { name: 'Conversation' }).click();
    await expect.poll(() => searchOf(page)).toEqual({});
  }, 120_000);
});

describeInBrowser('text from right to left', () => {
  it('is laid out by its content: prompt, answer and arguments', async ({ page }) => {
    const workflow_id = await here.workflow();
    here.model.script(says('## ملخص\n\n- السبب\n\nIn English.'));
    const task_id = await here.prompt(workflow_id, 'لخّص (الأسباب)');
    await here.ended(task_id);
    await open(page, `/tasks/${task_id}`);
    const text = page.getByTestId('transcript');
    const direction = (words: string) =>
      text.getByText(words).evaluate((element: any) => element.ownerDocument.defaultView.getComputedStyle(element).direction);
    await text.getByText('In English.').waitFor();
    expect(await Promise.all(['لخّص (الأسباب)', 'ملخص', 'السبب', 'In English.'].map(direction))).toEqual([
      ...['rtl', 'rtl', 'rtl', 'ltr'],
    ]);
    expect(await faultsOf(page)).toEqual([]);
  }, 120_000);
});
