import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { startInstallation } from '../../bench/installation.ts';
import { findChromium, HOW_TO_GET_CHROMIUM } from '../support/harness/chromium.ts';
import { startModelServer } from '../support/peers/model-server.ts';
import { type Api, type Story, tellStory } from './story.ts';

const HELP = `npm run screenshots -- [--to FOLDER]

Starts an installation in a temporary home, fills it with the runs of a small office, and takes pictures of ten screens: each in the
light theme at 1440 pixels and in the dark theme at 390. They go to FOLDER (.perdura/screenshots); those that the documentation shows
go to docs/images, too. Ends with 1 if a page reports an error.
`;

const ROOT = join(import.meta.dirname, '../..');
const { values: given } = parseArgs({
  options: { to: { type: 'string', default: join(ROOT, '.perdura/screenshots') }, help: { type: 'boolean', default: false } },
});

const LOOKS = [
  { name: 'light-1440', viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  { name: 'dark-390', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const;

/** The ten screens by the name of their pictures. */
const listScreens = ({ waiting, completed, workflow }: Story): Record<string, string> => ({
  overview: '/',
  inbox: '/inbox',
  tasks: '/tasks',
  'waiting-run': `/tasks/${waiting}`,
  steps: `/tasks/${completed}?view=steps`,
  workflow: `/workflows/${workflow}`,
  make: '/make',
  agents: '/agents',
  usage: '/usage',
  system: '/system',
});

/** The pictures in docs/images, by their name there. */
const IN_DOCS: Record<string, string> = {
  'waiting-run-light-1440': 'dashboard',
  'overview-light-1440': 'overview',
  'steps-light-1440': 'steps',
  'inbox-dark-390': 'inbox-phone',
};

if (given.help) console.log(HELP);
else process.exitCode = (await takeAll(given.to)) ? 0 : 1;

async function takeAll(folder: string): Promise<boolean> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error(`No pictures can be taken: ${HOW_TO_GET_CHROMIUM}`);
  await mkdir(folder, { recursive: true });
  const model = await startModelServer();
  const { installation, token, stop } = await startInstallation();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--font-render-hinting=none'] });
  try {
    const story = await tellStory(openApi(installation.api_url, token), model);
    const errors: string[] = [];
    for (const look of LOOKS)
      errors.push(...(await takeLook(browser, { look, story, url: installation.api_url, token, folder })));
    for (const error of errors) console.error(error);
    return errors.length === 0;
  } finally {
    await browser.close();
    await stop();
    await model.stop();
  }
}

function openApi(url: string, token: string): Api {
  return {
    async send(method, path, body) {
      const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
      const reply = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
      return (await reply.json()) as never;
    },
  };
}

interface Taking {
  look: (typeof LOOKS)[number];
  story: Story;
  url: string;
  token: string;
  folder: string;
}

/** Takes the pictures of one theme and size. Returns the errors that the pages reported. */
async function takeLook(browser: Browser, { look, story, url, token, folder }: Taking): Promise<string[]> {
  const { name: look_name, ...settings } = look;
  const context = await browser.newContext({
    ...settings,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(`${page.url()}: ${message.text()}`));
  page.on('pageerror', (error) => errors.push(`${page.url()}: ${error.message}`));
  await page.goto(`${url}/dashboard/`);
  await page.getByLabel('Access token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  for (const [name, path] of Object.entries(listScreens(story))) {
    await page.goto(`${url}/dashboard${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    for (const loading of await page.locator('[role="status"][aria-label$="…"]').all())
      await loading.waitFor({ state: 'detached' });
    await page.evaluate('document.fonts.ready');
    await page.waitForTimeout(400);
    const picture = `${name}-${look_name}`;
    const path_in_folder = join(folder, `${picture}.png`);
    await page.screenshot({ path: path_in_folder });
    console.log(path_in_folder);
    const shown_as = IN_DOCS[picture];
    if (shown_as) await page.screenshot({ path: join(ROOT, 'docs/images', `${shown_as}.png`) });
  }
  await context.close();
  return errors;
}
