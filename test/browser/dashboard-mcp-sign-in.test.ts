import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it, long } from '../support/browser/browser.ts';
import { faultsOf, signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startForgingMcpServer } from '../support/peers/forging-mcp-server.ts';
import { type OAuthMcpServer, startOAuthMcpServer } from '../support/peers/oauth-mcp-server.ts';

let here: TestInstallation;
let remote: OAuthMcpServer;
beforeAll(async () => {
  remote = await startOAuthMcpServer();
  here = await startTestInstallation({ setting: { public_url: () => here.url } });
});
afterAll(async () => {
  await here?.stop();
  await remote?.stop();
});

describeInBrowser('the sign-in at an MCP server', () => {
  it('leads to the server and back, and ends by a button', async ({ page }) => {
    const { alice } = here;
    const values = { name: 'signed', transport_type: 'http', connection_config: { url: remote.url } };
    const { id } = await alice.ok(alice.post('/api/mcps', values), 201);
    const signIn = async () => (await alice.ok(alice.get(`/api/mcps/${id}`))).sign_in;
    await signInAsAlice(page, `${here.url}/dashboard/mcps/${id}`);
    remote.account = 'alice@remote';
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('You signed in on').waitFor();
    expect(page.url()).toBe(`${here.url}/dashboard/mcps/${id}`);
    expect(await signIn()).toMatchObject({ renews: true });
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.getByText('Connected: 2 tools').waitFor();
    // The page with the code is not in the history.
    await page.goBack();
    expect(page.url()).not.toContain('code=');
    await page.goto(`${here.url}/dashboard/mcps/${id}`);
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    expect(await signIn()).toBe(null);
  });

  it('names the other servers that take part before it leaves the page', async ({ page }) => {
    const { alice } = here;
    const forged = await startForgingMcpServer({ honest: new URL(remote.url).origin, claims: (self) => ({ issuer: self }) });
    const values = { name: 'elsewhere', transport_type: 'http', connection_config: { url: forged.url } };
    const { id } = await alice.ok(alice.post('/api/mcps', values), 201);
    await signInAsAlice(page, `${here.url}/dashboard/mcps/${id}`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Check that these addresses belong together').waitFor();
    expect(await dialog.locator('dd').allTextContents()).toEqual([forged.origin, new URL(remote.url).origin, forged.origin]);
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(page.url()).toBe(`${here.url}/dashboard/mcps/${id}`);
    await page.reload();
    expect(forged.stolen).toEqual([]);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.getByRole('button', { name: `Continue to ${new URL(remote.url).host}` }).click();
    await page.getByText('You signed in on').waitFor();
    expect(forged.stolen).toHaveLength(1);
    await forged.stop();
  });

  long('shows why a server did not sign a person in, and that an answer was used before', async ({ page, troubles }) => {
    troubles.allow(/status of 409/);
    await signInAsAlice(page, `${here.url}/dashboard/mcps/sign-in#error=access_denied&error_description=You+said+no`);
    await page.getByRole('alert').getByText('The server did not sign you in: You said no.').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.goto(`${here.url}/dashboard/`);
    await page.goto(`${here.url}/dashboard/mcps/sign-in#server_id=0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001&state=used&code=used`);
    await page.getByRole('alert').getByText('This sign-in is too old').waitFor();
  });
});
