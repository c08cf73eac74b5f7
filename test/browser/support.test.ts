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
    const kinds = ['a complaint', 'Content Security Policy', 'exception: thrown'];
    await expect.poll(() => kinds.filter((kind) => troubles.seen.some((trouble) => trouble.includes(kind)))).toEqual(kinds);
    troubles.allow(/./);
  });

  it.fails('fails for a trouble that it did not allow', async ({ page, troubles }) => {
    await page.goto(`${here.url}/dashboard-legacy`);
    troubles.allow(/something else/);
    await page.evaluate("console.error('a complaint')");
  });

  it('records every failed answer except that the service is not ready', async ({ page, troubles }) => {
    await page.route(/\/health\//, (route) => {
      const status = Number(new URL(route.request().url()).searchParams.get('status') ?? 503);
      return route.fulfill({ status, json: { code: 'planned' } });
    });
    await page.goto(`${here.url}/dashboard-legacy`);
    for (const path of ['/health/ready', '/health/ready?status=500', '/health/live'])
      await page.evaluate(`fetch('${path}').then((answer) => answer.text())`);
    const logged = 'console: Failed to load resource: the server responded with a status of';
    await expect
      .poll(() => [...troubles.seen].sort())
      .toEqual([
        `${logged} 500 (Internal Server Error)`,
        `${logged} 503 (Service Unavailable)`,
        `response: status of 500, planned, to GET ${here.url}/health/ready?status=500`,
        `response: status of 503, planned, to GET ${here.url}/health/live`,
      ]);
    troubles.allow(/status of 50[03]/);
  });

  it('returns what axe finds', async ({ page }) => {
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
