import axeCore from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { describe, inject, test } from 'vitest';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const PATIENCE_MS = 20_000;

/** What went wrong in the page: what its console calls an error, exceptions, requests that failed. Any that is not allowed fails the test. */
export interface Troubles {
  seen: string[];
  /** For a test that provokes them. Chromium's console also tells of each answer of 400 and above. */
  allow(expected: RegExp): void;
}

interface Fixtures {
  $file: { browser: Browser };
  $test: { page: Page; troubles: Troubles };
}

/** Groups tests that need a browser; they are left out where there is none. */
export const describeInBrowser = describe.skipIf(!inject('chromium'));

/** One browser a file, and for each test a page of its own with nothing remembered. */
export const it = test.extend<Fixtures>({
  browser: [
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from the pattern.
    async ({}, use) => {
      const browser = await chromium.launch({ executablePath: inject('chromium'), args: ARGS });
      await use(browser);
      await browser.close();
    },
    { scope: 'file' },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: as above
  troubles: async ({}, use) => {
    const allowed: RegExp[] = [];
    const seen: string[] = [];
    await use({ seen, allow: (expected) => void allowed.push(expected) });
    const unexpected = seen.filter((trouble) => !allowed.some((pattern) => pattern.test(trouble)));
    if (unexpected.length > 0) throw new Error(`The page had troubles:\n${unexpected.join('\n')}`);
  },
  page: async ({ browser, troubles }, use) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    watch(page, troubles.seen);
    await use(page);
    await context.close();
  },
});

function watch(page: Page, seen: string[]): void {
  page.on('console', (message) => message.type() === 'error' && seen.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => seen.push(`exception: ${error.message}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? 'unknown';
    // What the page itself ends, such as a stream it no longer follows.
    if (reason !== 'net::ERR_ABORTED') seen.push(`request: ${request.method()} ${request.url()}: ${reason}`);
  });
}

const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds wrong with the page as it is now, a sentence for each; none is good. */
export async function axe(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the page's Content-Security-Policy does not concern.
  await page.evaluate(axeCore.source);
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ runOnly: STANDARDS, resultTypes: ['violations'] })})`,
  )) as axeCore.AxeResults;
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}
