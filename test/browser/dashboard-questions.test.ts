import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { asks, says } from '../support/peers/model-server.ts';

const FORM = {
  type: 'object' as const,
  properties: {
    email: { type: 'string' as const, format: 'email' as const, title: 'Email', description: 'Where the ticket goes' },
    day: { type: 'string' as const, format: 'date' as const },
    note: { type: 'string' as const },
    seats: { type: 'integer' as const, minimum: 1, maximum: 9, default: 2 },
    price: { type: 'number' as const },
    window: { type: 'boolean' as const, title: 'At the window' },
    class: { type: 'string' as const, enum: ['eco', 'first'], enumNames: ['Economy', 'First class'] },
  },
  required: ['email', 'seats'],
};

let here: TestInstallation;
let server: Awaited<ReturnType<typeof asksOverHttp>>;
let server_id: string;
beforeAll(async () => {
  here = await shareInstallation();
  server = await asksOverHttp();
  const mcp = { name: 'asks', transport_type: 'http', connection_config: { url: server.url } };
  server_id = (await here.alice.ok(here.alice.post('/api/mcps', mcp))).id;
});
afterAll(async () => {
  await here.stop();
  await server.stop();
});

async function asked() {
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server_id] }, workflow: { title: 'Journeys' } });
  here.model.script(asks({ name: 'book' }), says('It is booked.'));
  return { workflow_id, task_id: await here.prompt(workflow_id) };
}
const resultOf = async (task_id: string) =>
  JSON.parse((await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`)))[0].tool_calls[0].result);

describeInBrowser('the question of an MCP server', () => {
  it('is a form made from its schema, which shows what is wrong before it sends the answer', async ({ page }) => {
    const { task_id } = await asked();
    await signInAsAlice(page, `${here.url}/dashboard/`, here.people.alice.token);
    await page.getByText('book asks: Who travels?').waitFor();
    await page.getByRole('link', { name: 'Journeys' }).first().click();
    const form = page.locator('form').filter({ has: page.getByRole('button', { name: 'Submit' }) });
    await form.getByText('Where the ticket goes').waitFor();
    await form.getByText(`Asked by the MCP server asks at ${new URL(server.url).host}`).waitFor();
    expect(await form.getByLabel('seats').inputValue()).toBe('2');
    await form.getByLabel('Email').fill('ada');
    await form.getByRole('button', { name: 'Submit' }).click();
    await form.getByText('Must be an email address').waitFor();
    await form.getByLabel('Email').fill('ada@example.com');
    await form.getByLabel('day').fill('2026-12-24');
    await form.getByLabel('price').fill('12.5');
    await form.getByLabel('At the window').check();
    await form.getByLabel('class').selectOption({ label: 'First class' });
    await form.getByRole('button', { name: 'Submit' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    const content = { email: 'ada@example.com', day: '2026-12-24', seats: 2, price: 12.5, window: true, class: 'first' };
    expect(await resultOf(task_id)).toEqual({ action: 'accept', content });
  });
});

const asksOverHttp = () =>
  startHttpMcpServer('asks', (mcp) => {
    mcp.registerTool('book', { description: 'Books a journey' }, async (extra) => {
      const options = { timeout: 600_000, relatedRequestId: extra.requestId };
      const text = JSON.stringify(await mcp.server.elicitInput({ message: 'Who travels?', requestedSchema: FORM }, options));
      return { content: [{ type: 'text', text }] };
    });
  });
