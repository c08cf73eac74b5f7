import { existsSync } from 'node:fs';

// The first one is the same browser without windows, which takes a quarter less processor time.
const USUAL = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
export const HOW_TO_GET_CHROMIUM =
  'install Chromium (Debian: apt-get install chromium-headless-shell) or name one with CHROMIUM_PATH';

/** Returns Chromium's path for tests in a browser; '' if there is none, and then those tests are skipped. */
export const findChromium = (env: NodeJS.ProcessEnv = process.env, usual: readonly string[] = USUAL): string =>
  env.CHROMIUM_PATH || (usual.find((path) => existsSync(path)) ?? '');
