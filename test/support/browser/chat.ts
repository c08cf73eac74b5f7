import type { Locator, Page } from 'playwright-core';

export const messageBox = (page: Page): Locator => page.getByLabel('Message', { exact: true });
export const messages = (page: Page): Locator => page.getByRole('log', { name: 'Messages' });
export const turn = (page: Page, number: number): Locator => page.getByRole('region', { name: `Turn ${number}`, exact: true });

/** Waits until the conversation shows a text. */
export const said = (page: Page, text: string): Promise<void> =>
  messages(page).getByText(text, { exact: true }).first().waitFor();

export async function say(page: Page, text: string): Promise<void> {
  await messageBox(page).fill(text);
  await messageBox(page).press('Enter');
}

/** Waits until no turn is in progress. */
export const settled = (page: Page): Promise<void> => page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
