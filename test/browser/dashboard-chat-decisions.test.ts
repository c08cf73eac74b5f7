import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { said, say, settled, turn } from '../support/browser/chat.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';

const PAY = 'EFFECT = "write"\ndef pay(euros: int) -> str:\n    return f"paid {euros}"\n';
const FORM = {
  type: 'object' as const,
  properties: {
    guest: { type: 'string' as const, title: 'Guest', description: 'As in the passport' },
    nights: { type: 'integer' as const, minimum: 1, maximum: 7 },
  },
  required: ['guest', 'nights'],
};

let here: TestInstallation;
let server: Awaited<ReturnType<typeof startHttpMcpServer>>;
let agent_id: string;
let pay: string;
beforeAll(async () => {
  here = await startTestInstallation();
  server = await startHttpMcpServer('hotel', (mcp) => {
    mcp.registerTool('reserve', { description: 'Reserves a room' }, async (extra) => {
      const options = { timeout: 600_000, relatedRequestId: extra.requestId };
      const answer = await mcp.server.elicitInput({ message: 'For which person, and how long?', requestedSchema: FORM }, options);
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
    });
  });
  const mcp = { name: 'hotel', transport_type: 'http', connection_config: { url: server.url } };
  const { id: mcp_server_id } = await here.alice.ok(here.alice.post('/api/mcps', mcp), 201);
  const workflow_id = await here.workflow({ tools: [PAY] });
  pay = (await toolOf(here, workflow_id)).name;
  agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id;
  const changes = { mcp_server_ids: [mcp_server_id], approval_tools: [pay] };
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, changes));
});
afterAll(async () => {
  await here?.stop();
  await server?.stop();
});

const open = (page: Page) => signInAsAlice(page, `${here.url}/dashboard/chat?agent_id=${agent_id}`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const resultsSent = () => here.model.requests.at(-1)!.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));

describeInBrowser('a turn of a conversation', () => {
  it('asks the question of a tool in its place, and continues with the answer', async ({ page }) => {
    here.model.script(asks({ name: 'reserve' }), says('The room is reserved.'));
    await open(page);
    await say(page, 'Reserve a room.');
    const form = turn(page, 1).locator('form');
    await form.getByText('As in the passport').waitFor();
    await form.getByText(`Asked by the MCP server hotel at ${new URL(server.url).host}`).waitFor();
    expect(await axe(page)).toEqual([]);
    await form.getByLabel('Guest').fill('Ada');
    await form.getByLabel('nights').fill('8');
    await button(page, 'Submit').click();
    await form.getByText('Must be at most 7').waitFor();
    await form.getByLabel('nights').fill('3');
    await button(page, 'Submit').click();
    await said(page, 'The room is reserved.');
    await form.waitFor({ state: 'detached' });
    expect(resultsSent().map((content) => JSON.parse(content!))).toEqual([
      { action: 'accept', content: { guest: 'Ada', nights: 3 } },
    ]);
  });

  it('continues without the call that a person denies, whose reason the model reads', async ({ page }) => {
    here.model.script(asks({ name: pay, args: { euros: 17 } }), says('Then I will not pay.'));
    await open(page);
    await say(page, 'Pay the bill.');
    await turn(page, 1).getByText(`Approve the call to ${pay}?`).waitFor();
    await page.getByLabel('Message to the model if you deny (optional)').fill('It was paid in cash.');
    await button(page, 'Deny').click();
    await said(page, 'Then I will not pay.');
    await settled(page);
    expect(resultsSent()).toEqual(['Denied by a person: It was paid in cash.']);
    await page.reload();
    await said(page, 'Then I will not pay.');
    await turn(page, 1).locator('summary').filter({ hasText: pay }).click();
    await turn(page, 1).getByText('Denied by a person: It was paid in cash.').waitFor();
  });

  it('has the reasoning of its model folded, also after a reload', async ({ page }) => {
    here.model.script(says('<think>Thirteen is prime.</think>\n\nIt is 13.'));
    await open(page);
    await say(page, 'A prime?');
    await said(page, 'It is 13.');
    await settled(page);
    for (const load of [async () => {}, () => page.reload()]) {
      await load();
      const reasoning = turn(page, 1).getByTestId('reasoning');
      const thought = reasoning.getByText('Thirteen is prime.');
      await reasoning.getByText('Reasoning').waitFor();
      expect(await thought.isVisible()).toBe(false);
      await reasoning.getByText('Reasoning').click();
      await thought.waitFor();
      await reasoning.getByText('Reasoning').click();
      await thought.waitFor({ state: 'hidden' });
    }
    expect(await page.getByText('<think>').count()).toBe(0);
  });
});
