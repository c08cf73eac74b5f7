import type { Page } from 'playwright-core';
import { SAMPLE } from '../../../src/contracts/sample.ts';
import { startDemoModel } from '../../../src/embedded/demo-model.ts';
import { prepareSample } from '../../../src/main/wiring/prepare-sample.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../installation.ts';

const open: { stop(): Promise<void> }[] = [];
let shown: Page | undefined;
/** Stops what a test has started. Each file registers it: this module is loaded once for all files. */
export async function cleanUp(): Promise<void> {
  // Requests of the page to a stopped service would count as troubles.
  await shown?.goto('about:blank').catch(() => {});
  shown = undefined;
  for (const here of open.splice(0).reverse()) await here.stop();
}

/** Has them stopped at the end of the test, the last one first. */
export const keep = (...started: { stop(): Promise<void> }[]): void => void open.push(...started);

/** Has the page left before what it shows is stopped. */
export function show(page: Page): void {
  shown = page;
}

/** As after the first `npm start`. */
export async function freshInstallation(): Promise<TestInstallation> {
  const demo = await startDemoModel({ token_delay_ms: 100 });
  const here = await startTestInstallation();
  keep(demo, here);
  await prepareSample(here.core, {
    demo_model_url: demo.url,
    owner: { provider: 'local', subject: 'alice', login: 'alice' },
  });
  return here;
}

export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
export const awaitCompletion = (page: Page) =>
  page.locator('.run-bar .status').getByText('completed', { exact: true }).first().waitFor();

export async function signIn(page: Page, url: string, path = '/'): Promise<void> {
  show(page);
  await page.goto(`${url}/dashboard${path}`);
  await page.getByLabel('Access token').fill(ALICE);
  await button(page, 'Sign in').click();
  await button(page, 'Sign out').waitFor();
}

/** The names of everything the user created. */
export async function made({ alice }: TestInstallation) {
  const names = async (path: string) =>
    ((await alice.ok(alice.get(`/api/${path}`))) as unknown as Record<string, string>[]).map(({ name, title }) => name ?? title);
  return {
    tokens: await names('tokens'),
    providers: await names('providers'),
    agents: await names('agents'),
    workflows: await names('workflows'),
  };
}

export const OWN = { providers: [SAMPLE.provider], agents: [SAMPLE.agent], workflows: [SAMPLE.workflow], tokens: [] };
