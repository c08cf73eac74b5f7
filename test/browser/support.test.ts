import { afterAll, beforeAll, describe, expect, it as plain } from 'vitest';
import { axe, describeInBrowser, it } from '../support/browser/browser.ts';
import { findChromium } from '../support/harness/chromium.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
});
afterAll(() => here.stop());

describeInBrowser('a test in a browser', () => {
  it('records console errors, failed requests and exceptions of the page', async ({ page, troubles }) => {
    await page.goto(`${here.url}/dashboard-legacy`);
    await page.evaluate(`
      console.error('a complaint');
      fetch('http://127.0.0.1:1/').catch(() => {});
      setTimeout(() => { throw new Error('thrown') });
    `);
    await expect.poll(() => troubles.seen.join('\n')).toMatch(/a complaint.*Content Security Policy.*exception: thrown/s);
    troubles.allow(/./);
  });

  it.fails('fails for a trouble that it did not allow', async ({ page, troubles }) => {
    await page.goto(`${here.url}/dashboard-legacy`);
    troubles.allow(/something else/);
    await page.evaluate("console.error('a complaint')");
  });

  it('returns what axe finds', async ({ page, troubles }) => {
    // Without a worker nobody has set the engine up, so the installation is not ready.
    troubles.allow(/503/);
    await page.goto(`${here.url}/dashboard-legacy`);
    await page.evaluate("document.body.append(document.createElement('img'))");
    expect(await axe(page)).toContainEqual(expect.stringMatching(/^image-alt: .*<img>/));
  });
});

describe('the search for Chromium', () => {
  plain('uses CHROMIUM_PATH', () => {
    expect(findChromium({ CHROMIUM_PATH: '/opt/chromium' })).toBe('/opt/chromium');
  });

  plain('returns an empty path if there is none', () => {
    expect(findChromium({}, [])).toBe('');
  });
});
