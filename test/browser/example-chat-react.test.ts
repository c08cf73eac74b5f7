import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { say, shows, startExample } from '../support/browser/example.ts';
import { asks, says } from '../support/peers/model-server.ts';

let example: Awaited<ReturnType<typeof startExample>>;
beforeAll(async () => {
  example = await startExample('chat-react');
}, 120_000);
afterAll(() => example?.stop());

describeInBrowser('examples/chat-react', () => {
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
    const lines = here.model.requests
      .at(-1)!
      .messages.slice(1)
      .map(({ content }) => content);
    expect(lines).toEqual(['Count.', 'One two three four.', 'And then?']);
    expect(await page.locator('li').count()).toBe(4);
  });

  it('asks before a tool is called, also after it was loaded again', async ({ page, troubles }) => {
    troubles.allow(/ERR_ABORTED/);
    const { here, url, tool } = example;
    here.model.script(asks({ name: tool, args: { a: 17, b: 25 }, text: 'I add.' }), says('It is 42.'));
    await page.goto(url);
    await say(page, 'What is 17 + 25?');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'It is 42.');
    await shows(page, '{"result":42}');
  });
});
