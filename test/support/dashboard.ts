import type { Page } from 'playwright-core';
import { ALICE } from './installation.ts';

/** Opens a page of the dashboard as somebody who is not signed in yet, and signs in. */
export async function signInAsAlice(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.getByLabel('Access token').fill(ALICE);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}
