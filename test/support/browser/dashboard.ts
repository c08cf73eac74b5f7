import type { Locator, Page } from 'playwright-core';
import { ALICE } from '../installation.ts';
import { everyCase } from '../some-of.ts';
import { axe } from './browser.ts';

/** Opens a page of the dashboard without a session and signs in. */
export async function signInAsAlice(page: Page, address: string, token = ALICE): Promise<void> {
  await page.goto(address);
  await page.getByLabel('Access token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Chooses an action of a run from its menu, by keyboard too. */
export async function chooseMore(page: Page, name: string, how: 'click' | 'keys' = 'click'): Promise<void> {
  const press = (target: Locator) => (how === 'keys' ? target.press('Enter') : target.click());
  await press(page.getByRole('button', { name: 'More actions' }));
  await press(page.getByRole('menuitem', { name, exact: true }));
}

/** Sets the system's theme to dark and waits until the page follows. */
export async function darken(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
}

/**
 * Returns anything wider than the window, and violations. Each theme and each window size is checked once; with every case,
 * each combination.
 */
export async function faultsOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  const look = async (name: string, width: number) => {
    await page.setViewportSize({ width, height: 800 });
    const wider = await settle(page);
    if (wider > 0) found.push(`${name}: ${wider} px wider than the window`);
    found.push(...(await axe(page)).map((fault) => `${name}: ${fault}`));
  };
  if (everyCase()) await look('light 1280', 1280);
  await look('light 390', 390);
  await darken(page);
  if (everyCase()) await look('dark 390', 390);
  await look('dark 1280', 1280);
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** Returns how much wider than the window the page is, once its layout has followed the window. */
async function settle(page: Page): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const wider = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    if (wider <= 0 || tries === 20) return wider;
    await page.waitForTimeout(50);
  }
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

/** Opens or closes a section of a form. */
export const unfold = (page: Page, title: string): Promise<void> => page.locator('summary').filter({ hasText: title }).click();
