import type { Page } from 'playwright-core';

/** Adds the chip of a filter to a list, which then has the focus. */
export async function addFilter(page: Page, label: string): Promise<void> {
  await page.getByRole('button', { name: 'Add filter' }).click();
  await page.getByRole('menuitem', { name: label, exact: true }).click();
}
