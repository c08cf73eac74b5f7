import axeCore from 'axe-core';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { describe, inject, test } from 'vitest';
import { health } from '../../../src/contracts/health.ts';
import { coverageFolder, writeCoverage } from '../../coverage/folder.ts';
import { everyCase } from '../some-of.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Pages of one address share a process, and none is started in advance.
  '--process-per-site',
  '--disable-features=SpareRendererForSitePerProcess',
];
const PATIENCE_MS = 20_000;
/**
 * The scale of the screen, which nobody sees: a sixteenth of the pixels takes a seventh less processor time, and the layout is
 * the same.
 */
const DRAWN = 0.25;
const CONTEXT = { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', deviceScaleFactor: DRAWN } as const;

/**
 * The console errors, exceptions and failed requests of the page. Any that is not allowed fails the test. The answers that the service
 * is not ready, and that a record was changed meanwhile, are not among them.
 */
export interface Troubles {
  seen: string[];
  /** Allows expected troubles, for a test that provokes them. Chromium also logs each response with status 400 and above. */
  allow(expected: RegExp): void;
}

interface Fixtures {
  $worker: { context: BrowserContext };
  $test: {
    page: Page;
    /** A page in a separate context, for a test that changes its clock or what each page begins with. */
    page_apart: Page;
    troubles: Troubles;
  };
}

/** Groups tests that need a browser; they are skipped if there is none. */
export const describeInBrowser = describe.skipIf(!inject('chromium'));

/** Provides one browser per process, which loads the dashboard's code once, and for each test a new page without stored state. */
export const it = test.extend<Fixtures>({
  context: [
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from the pattern.
    async ({}, use) => {
      const browser = await chromium.launch({ executablePath: inject('chromium'), args: ARGS });
      const context = await browser.newContext(CONTEXT);
      context.addInitScript = refuseForAll;
      context.clock.install = refuseForAll;
      await use(context);
      await browser.close();
    },
    { scope: 'worker' },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: as above
  troubles: async ({}, use) => {
    const allowed: RegExp[] = [];
    const seen: string[] = [];
    await use({ seen, allow: (expected) => void allowed.push(expected) });
    const unexpected = seen.filter((trouble) => !allowed.some((pattern) => pattern.test(trouble)));
    if (unexpected.length > 0) throw new Error(`The page had troubles:\n${unexpected.join('\n')}`);
  },
  page_apart: async ({ context, troubles }, use) => {
    const own = await context.browser()!.newContext(CONTEXT);
    await usePage(own, troubles, use);
    await own.close();
  },
  page: async ({ context, troubles }, use) => {
    await usePage(context, troubles, use);
    for (const opened of context.pages()) {
      await opened.evaluate('localStorage.clear()').catch(NOTHING_STORED);
      await opened.close();
    }
    await context.setOffline(false);
    await context.clearPermissions();
    await context.clearCookies();
  },
});

async function refuseForAll(): Promise<never> {
  throw new Error('All tests of a process share this context; take page_apart');
}

/** Opens a page whose troubles are watched. */
async function usePage(context: BrowserContext, { seen }: Troubles, use: (page: Page) => Promise<void>): Promise<void> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  watch(page, seen);
  await measurePage(page, () => use(page));
}

/** Writes what the page executed, if coverage is measured: also before it is left, because V8 then forgets it. */
async function measurePage(page: Page, work: () => Promise<void>): Promise<void> {
  const folder = coverageFolder();
  if (!folder) return work();
  const start = () => page.coverage.startJSCoverage({ resetOnNavigation: false });
  const write = async () => {
    const result = await page.coverage.stopJSCoverage();
    writeCoverage(folder, 'pages', { result: result.map(({ url, functions }) => ({ url, functions })) });
  };
  const writeBefore =
    <Given extends unknown[], Done>(leave: (...given: Given) => Promise<Done>) =>
    async (...given: Given): Promise<Done> => {
      await write();
      await start();
      return leave(...given);
    };
  page.goto = writeBefore(page.goto.bind(page));
  page.reload = writeBefore(page.reload.bind(page));
  await start();
  await work();
  await write();
}

/**
 * Defines a test of something that few changes can break, such as another look of a screen, a filter, or a refusal whose rule
 * has a test without a browser. `npm run test:long` runs it, and `npm test` does not.
 */
export const long = it.runIf(everyCase());

/** Ignores a page without an origin, which has no storage. */
const NOTHING_STORED = () => {};

/**
 * True for the answer that the service is not ready, and for what Chromium logs about it. Every page asks for the readiness and shows
 * it, and on a loaded machine a check that takes longer than three seconds makes it 503.
 */
const isNotReady = (url: string, trouble: string): boolean =>
  trouble.includes('status of 503') && URL.parse(url)?.pathname === health.ready.path;

/**
 * True for what Chromium logs about a save that met another change, which the service itself may have made: the form reads the record
 * again, and then saves, or shows both.
 */
const isSavedAgain = (trouble: string): boolean => trouble.includes('status of 412');

function watch(page: Page, seen: string[]): void {
  const note = (url: string, trouble: string) => {
    if (!isNotReady(url, trouble) && !isSavedAgain(trouble)) seen.push(trouble);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') note(message.location().url, `console: ${message.text()}`);
  });
  page.on('response', (response) => {
    if (response.status() < 500) return;
    const url = response.url();
    const asked = `${response.request().method()} ${url}`;
    const noteAnswer = (code: unknown) => note(url, `response: status of ${response.status()}, ${code}, to ${asked}`);
    response.json().then(
      ({ code }) => noteAnswer(code),
      () => noteAnswer('without a code'),
    );
  });
  page.on('pageerror', (error) => seen.push(`exception: ${error.message}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? 'unknown';
    // Ignores requests that the page itself aborts, such as a stream that it no longer follows.
    if (reason !== 'net::ERR_ABORTED') seen.push(`request: ${request.method()} ${request.url()}: ${reason}`);
  });
}

const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Returns the axe violations of the current page, one sentence each. */
export async function axe(page: Page): Promise<string[]> {
  // The debugger evaluates this, so the page's Content-Security-Policy does not apply.
  await page.evaluate(axeCore.source);
  // Colours in the middle of a change are nobody's.
  await page.evaluate(
    'Promise.all(document.getAnimations().filter((it) => it.effect?.getComputedTiming().iterations !== Infinity).map((it) => it.finished.catch(() => {})))',
  );
  // At the end of a form, its bar covers no part of a field or button.
  await page.evaluate(
    "for (const form of document.querySelectorAll('form:has(.form-actions)')) form.scrollIntoView({ block: 'end' })",
  );
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ runOnly: STANDARDS, resultTypes: ['violations'] })})`,
  )) as axeCore.AxeResults;
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}
