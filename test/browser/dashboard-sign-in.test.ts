import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { faultsOf } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startIssuer, type TestIssuer } from '../support/peers/issuer.ts';
import { says } from '../support/peers/model-server.ts';

let issuer: TestIssuer;
let here: TestInstallation;
beforeAll(async () => {
  issuer = await startIssuer();
  const env = { OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: issuer.client_id, OIDC_CLIENT_SECRET: issuer.client_secret };
  here = await startTestInstallation({ env: { ...env, OIDC_NAME: 'Example ID' }, setting: { public_url: () => here.url } });
  here.model.always(says('Hello, Ada.'));
  issuer.register(here.url);
});
afterAll(async () => {
  await here?.stop();
  await issuer?.stop();
});

/** Through the pages of the issuer. */
async function signInAtIssuer(page: Page, login: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
  await page.getByPlaceholder('Enter any login').fill(login);
  await page.getByPlaceholder('and password').fill('x');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

describeInBrowser('signing in at the issuer', () => {
  it('leads back to the page that was asked for, runs a prompt, and ends with signing out', async ({ page, troubles }) => {
    // The pages of the issuer ask for a font and an icon.
    troubles.allow(/401|404|fonts\.googleapis|ERR_NAME_NOT_RESOLVED/);
    const id = await here.workflow();
    await here.core.database.pool.query(`UPDATE workflows SET owner = 'oidc:ada', owner_login = 'ada' WHERE id = $1`, [id]);
    await page.goto(`${here.url}/dashboard/workflows/${id}?tab=run`);
    await page.getByLabel('Access token').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await signInAtIssuer(page, 'ada');
    expect(page.url()).toBe(`${here.url}/dashboard/workflows/${id}?tab=run`);
    await page.getByTitle('Signed in as ada (oidc)').waitFor();
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
    expect(stored).not.toMatch(/ps_|access-token|perdura-session/);

    await page.getByRole('textbox', { name: 'Prompt' }).fill('Hi');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Hello, Ada.').first().waitFor();
    await page.reload();
    await page.getByText('Hello, Ada.').first().waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in with Example ID' }).waitFor();
    expect((await here.core.database.pool.query('SELECT 1 FROM browser_sessions')).rowCount).toBe(0);
    await page.reload();
    await page.getByRole('link', { name: 'Sign in with Example ID' }).waitFor();
  });

  it('reports if the session ends elsewhere, or the issuer is down', async ({ page, troubles }) => {
    // The pages of the issuer ask for a font and an icon.
    troubles.allow(/401|404|fonts\.googleapis|ERR_NAME_NOT_RESOLVED/);
    await page.goto(`${here.url}/dashboard/skills`);
    await signInAtIssuer(page, 'eve');
    await here.core.database.pool.query('DELETE FROM browser_sessions');
    await expect
      .poll(
        async () => {
          await page
            .getByRole('link', { name: 'Guardrails' })
            .click({ timeout: 500 })
            .catch(() => {});
          await page
            .getByRole('link', { name: 'Skills' })
            .click({ timeout: 500 })
            .catch(() => {});
          return page.getByText('Your sign-in has ended. Sign in again.').count();
        },
        { timeout: 15_000 },
      )
      .toBe(1);
    await page.goto(`${here.url}/dashboard/?sign_in=unreachable`);
    await page.getByText('Example ID cannot be reached.').waitFor();
    await signInAtIssuerAgain(page);
    expect(page.url()).toBe(`${here.url}/dashboard/`);
  });
});

/** The issuer still knows this browser. */
async function signInAtIssuerAgain(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}
