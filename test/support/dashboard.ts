import type { Page } from 'playwright-core';
import { ALICE } from './installation.ts';

/** Opens a page of the dashboard without a session and signs in. */
export async function signInAsAlice(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.getByLabel('Access token').fill(ALICE);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Sets the system's theme to dark and waits until the page follows. */
export async function darken(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
}

/** Counts the clicks on the page from now on; key presses do not count. */
export async function clicksOn(page: Page): Promise<() => number> {
  let count = 0;
  await page.exposeFunction('perduraClicked', () => {
    count += 1;
  });
  await page.addInitScript("addEventListener('pointerdown', () => perduraClicked(), { capture: true })");
  return () => count;
}
