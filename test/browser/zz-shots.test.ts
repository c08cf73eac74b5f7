import type { Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { startTestInstallation, ALICE, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here?.stop());
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const LONG = `## Late orders

Three orders are late. The oldest is **4711**.

| order | customer | days |
|---|---|---|
| 4711 | Ada | 7 |
| 4713 | Bob | 5 |
| 4717 | Eve | 3 |

\`\`\`python
def late(orders):
    return [order for order in orders if order.days > 2]
\`\`\`

1. Write to Ada first.
2. Then to Bob.
`;
async function intercept(page: Page) {
  if (process.env.REAL) return;
  await page.route(/\/api\/threads\/[^/]+\/messages/, async (route) => {
    const [, id] = /threads\/([^/]+)/.exec(route.request().url())!;
    if (route.request().method() === 'GET') return route.fulfill({ json: [], headers: { 'x-total-count': '0' } });
    const { message, attachments, when_busy } = route.request().postDataJSON();
    const thread = await here.alice.ok(here.alice.get(`/api/threads/${id}`));
    const done = await here.alice.ok(
      here.alice.post(`/api/workflows/${thread.workflow_id}/prompt`, { prompt: message, attachments, thread_id: id, on_busy: when_busy === 'interrupt' ? 'interrupt' : 'enqueue' }),
    );
    return route.fulfill({ status: 202, json: { id: done.task_id, state: 'started', message } });
  });
}
describeInBrowser('shots', () => {
  it('shots', async ({ page: small }) => {
    const workflow_id = await here.workflow({
      agent: { name: 'Order desk', approval_tools: ['t2_send_mail'] },
      tools: ['def find_orders(days: int) -> list:\n    return [{"order": 4711, "days": 7}]\n', 'def send_mail(to: str, text: str) -> str:\n    return "sent"\n'],
      workflow: { title: 'Office', remember: 'thread' },
    });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    for (const title of ['Which invoices are open since March?', 'Draft of the newsletter for autumn, with pictures of the new building', 'Pinned one'])
      await here.alice.ok(here.alice.post('/api/threads', { agent_id, title, pinned: title.startsWith('Pinned') }));
    const context = await small.context().browser()!.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
    const page = await context.newPage();
    await intercept(page);
    page.on('console', (it) => it.type() === 'error' && console.log(it.text()));
    await page.goto(`${here.url}/dashboard/chat`);
    await page.getByLabel('Access token').fill(ALICE);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.waitForTimeout(1500);
    await page.screenshot({ path: '/tmp/shots/new-1440-light.png' });
    const box = page.getByLabel('Message', { exact: true });
    here.model.script(asks({ name: 't1_find_orders', args: { days: 3 }, text: 'I look them up.' }), says(LONG));
    await box.fill('Which orders are late?\nShow them as a table.');
    await box.press('Enter');
    await page.getByText('Then to Bob.').waitFor();
    await page.getByRole('button', { name: 'Regenerate' }).waitFor();
    here.model.script(says('Nothing else is late. The picture shows **one pixel**.'));
    await page.getByLabel('Files to attach').setInputFiles([{ name: 'cat.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') }]);
    await page.getByRole('button', { name: 'Remove cat.png' }).waitFor();
    await box.fill('And what is in this picture?');
    await page.screenshot({ path: '/tmp/shots/typed-1440-light.png' });
    await box.press('Enter');
    await page.getByText('one pixel').waitFor();
    await page.waitForTimeout(500);
    here.model.script(says('Nothing else is late, I looked again.'));
    await page.getByRole('button', { name: 'Regenerate' }).last().click();
    await page.getByText('I looked again').waitFor();
    await page.waitForTimeout(800);
    await page.screenshot({ path: '/tmp/shots/versions-1440-light.png' });
    here.model.script(asks({ name: 't2_send_mail', args: { to: 'ada@example.com', text: 'Your order is late.' }, text: 'I write to Ada.' }), hangs('The mail is '));
    await box.fill('Write to Ada.');
    await box.press('Enter');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.waitForTimeout(500);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await page.waitForTimeout(300);
        await page.screenshot({ path: `/tmp/shots/approval-${width}-${scheme}.png` });
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('The mail is').waitFor();
    await page.waitForTimeout(500);
    await page.screenshot({ path: '/tmp/shots/working-1440-dark.png' });
    if (process.env.REAL) {
      await box.fill('Only to her private address.');
      await box.press('Enter');
      await page.getByText('Waits for the next step').waitFor();
      await page.screenshot({ path: '/tmp/shots/steer-1440-dark.png' });
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await page.evaluate('scrollTo(0, 300)');
    await page.waitForTimeout(300);
    await page.screenshot({ path: '/tmp/shots/up-390-dark.png' });
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.waitForTimeout(500);
    await page.screenshot({ path: '/tmp/shots/drawer-390-dark.png' });
    await context.close();
  }, 120_000);
});
