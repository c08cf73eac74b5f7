import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { say, shows, startExample } from '../support/browser/example.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';

let example: Awaited<ReturnType<typeof startExample>>;
beforeAll(async () => {
  example = await startExample('chat-ag-ui');
}, 120_000);
afterAll(() => example?.stop());

/** Lists what the page shows, a line for each message. */
const linesOf = async (page: Page) =>
  (await page.locator('li').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());

describeInBrowser('examples/chat-ag-ui', () => {
  it('shows an answer whole when its page is loaded again in the middle of it', async ({ page, troubles }) => {
    // A page that is left aborts its requests.
    troubles.allow(/ERR_ABORTED/);
    const { here, url } = example;
    let finish = () => {};
    const until = new Promise<void>((resolve) => (finish = resolve));
    here.model.script(says('One two three four.', { until }), says('Five.'));
    await page.goto(url);
    await say(page, 'Count.');
    await shows(page, 'One');
    await page.reload();
    await shows(page, 'One');
    finish();
    await shows(page, 'One two three four.');
    await say(page, 'And then?');
    await shows(page, 'Five.');
    expect(await linesOf(page)).toEqual(['user Count.', 'assistant One two three four.', 'user And then?', 'assistant Five.']);
    const contents = here.model.requests.at(-1)!.messages.map(({ content }) => content);
    expect(contents.slice(1)).toEqual(['Count.', 'One two three four.', 'And then?']);
  });

  it('asks before a tool is called, also after it was loaded again', async ({ page, troubles }) => {
    troubles.allow(/ERR_ABORTED/);
    const { here, url, tool } = example;
    here.model.script(
      asks({ name: tool, args: { a: 17, b: 25 }, text: 'I add.' }),
      asks({ name: tool, args: { a: 42, b: 1 }, text: 'And one.' }),
      says('It is 42.'),
      says('With pleasure.'),
    );
    await page.goto(url);
    await say(page, 'What is 17 + 25?');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'And one.');
    await page.getByRole('button', { name: 'Deny' }).click();
    await shows(page, 'It is 42.');
    await say(page, 'Thanks.');
    await shows(page, 'With pleasure.');
    const lines = [
      'user What is 17 + 25?',
      `assistant I add. ${tool}({"a":17,"b":25}){"result":42}`,
      `assistant And one. ${tool}({"a":42,"b":1})"Denied by a person."`,
      'assistant It is 42.',
      'user Thanks.',
      'assistant With pleasure.',
    ];
    expect(await linesOf(page)).toEqual(lines);
    await page.reload();
    await shows(page, 'With pleasure.');
    expect(await linesOf(page)).toEqual(lines);
  });

  it('shows why a run failed, also after it was loaded again, until the next one begins', async ({ page, troubles }) => {
    troubles.allow(/ERR_ABORTED|Agent execution failed/);
    const { here, url, tool } = example;
    here.model.script(
      asks({ name: tool, args: { a: 17, b: 25 }, text: 'I add.' }),
      fails(400, { message: 'There is no such model' }),
      says('Here.'),
    );
    await page.goto(url);
    await say(page, 'What is 17 + 25?');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('alert').getByText('There is no such model').waitFor();
    const lines = ['user What is 17 + 25?', `assistant I add. ${tool}({"a":17,"b":25}){"result":42}`];
    expect(await linesOf(page)).toEqual(lines);
    await page.reload();
    await page.getByRole('alert').getByText('There is no such model').waitFor();
    expect(await linesOf(page)).toEqual(lines);
    await say(page, 'Are you there?');
    await shows(page, 'Here.');
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await linesOf(page)).toEqual([...lines, 'user Are you there?', 'assistant Here.']);
  });

  it('shows why a message was refused', async ({ page, troubles }) => {
    troubles.allow(/status of 422|Agent execution failed/);
    const { here, url } = example;
    const config = { forbidden_patterns: ['secret'] };
    const guardrail = { name: here.unique('no secrets'), guardrail_type: 'prompt', config };
    const { id: guardrail_id } = await here.alice.ok(here.alice.post('/api/guardrails', guardrail), 201);
    const workflow_id = await here.workflow({ workflow: { remember: 'thread', guardrail_ids: [guardrail_id] } });
    const { id: thread } = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
    await page.addInitScript((id) => localStorage.setItem('thread', id), thread);
    await page.goto(url);
    await say(page, 'Tell me the secret.');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch(/^\w+: The guardrail .* refuses this prompt/);
    expect(await linesOf(page)).toEqual(['user Tell me the secret.']);
  });
});
