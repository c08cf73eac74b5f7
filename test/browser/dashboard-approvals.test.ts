import { afterAll, beforeAll, expect } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

describeInBrowser('the tools of an agent that ask', () => {
  it('are chosen among its tools, marked if they are not known, and shown on its page', async ({ page }) => {
    const values = { name: 'unlisted', transport_type: 'http', connection_config: { url: 'https://mcp.example.com/mcp' } };
    const { id: server } = await here.alice.ok(here.alice.post('/api/mcps', values));
    const agent = { name: 'guarded', builtin_tools: ['bash', 'glob'], mcp_server_ids: [server], approval_tools: ['send_mail'] };
    const { id } = await here.alice.ok(here.alice.post('/api/agents', agent));
    await signInAsAlice(page, `${here.url}/dashboard/agents/${id}`, here.people.alice.token);
    await page.getByText('Not among the tools that are known: send_mail.').waitFor();
    await page.getByText('Not listed yet: the tools of unlisted.').waitFor();
    const asking = page.getByRole('group', { name: 'Tools that ask', exact: true });
    await asking.getByText('send_mail').waitFor();

    const names = page.getByRole('combobox', { name: 'Tools that ask', exact: true });
    await names.click();
    await page.getByRole('option', { name: 'glob', exact: true }).click();
    const effects = page.getByRole('combobox', { name: 'Effects that ask', exact: true });
    await effects.click();
    await page.getByRole('option', { name: 'write', exact: true }).click();
    await page.getByRole('button', { name: 'Save changes', exact: true }).click();
    await page.getByText('was saved.').first().waitFor();
    expect(await here.alice.ok(here.alice.get(`/api/agents/${id}`))).toMatchObject({
      approval_tools: ['send_mail', 'glob'],
      approve_effects: ['write'],
    });
    for (const name of ['send_mail', 'glob', 'bash']) await asking.getByText(name, { exact: true }).waitFor();
    await asking.getByText('and every other tool with the effect write').waitFor();
    expect(await axe(page)).toEqual([]);
  }, 120_000);
});
