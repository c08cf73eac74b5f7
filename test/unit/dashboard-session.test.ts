import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { askIssuer, browserSession } from '../../src/dashboard/api/session.ts';

/** What a browser keeps, by key. */
function createStorage() {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  return { storage: storage as Storage, values: () => [...kept.values()] };
}

const ISSUER = { issuer: 'https://id.example', login_url: '/auth/login', signed_in: true };

/** A browser without a sign-in, or with the cookie of one, and how often its session has changed. */
function openBrowser(issuer?: typeof ISSUER) {
  const [tab, computer] = [createStorage(), createStorage()];
  const session = browserSession({ tab: tab.storage, computer: computer.storage }, issuer);
  let changes = 0;
  const unsubscribe = session.subscribe(() => {
    changes += 1;
  });
  return { ...session, tab, computer, unsubscribe, countChanges: () => changes };
}

/** The requests that the session sends, and the status of the answers. */
const requests: string[] = [];
let status: number | null;
beforeEach(() => {
  requests.length = 0;
  status = 204;
  vi.stubGlobal('fetch', async (path: string, { method = 'GET' }: RequestInit = {}) => {
    requests.push(`${method} ${path}`);
    if (status === null) throw new TypeError('fetch failed');
    return status === 200 ? Response.json(ISSUER) : new Response(null, { status });
  });
});
afterEach(() => vi.unstubAllGlobals());

describe('an access token', () => {
  it('stays in its tab, unless the person lets this computer keep it', () => {
    const browser = openBrowser();
    expect([browser.isSignedIn(), browser.token()]).toEqual([false, null]);
    browser.signIn('of-the-tab', false);
    expect([browser.tab.values(), browser.computer.values()]).toEqual([['of-the-tab'], []]);
    const another = openBrowser();
    another.signIn('of-the-computer', true);
    expect([another.tab.values(), another.computer.values()]).toEqual([[], ['of-the-computer']]);
    expect([browser.token(), another.token(), another.isSignedIn()]).toEqual(['of-the-tab', 'of-the-computer', true]);
  });

  it('of the tab counts more than that of the computer', () => {
    const browser = openBrowser();
    browser.signIn('of-the-computer', true);
    browser.signIn('of-the-tab', false);
    expect(browser.token()).toBe('of-the-tab');
  });

  it('is kept nowhere after signing out, of which the service need not know', async () => {
    const browser = openBrowser();
    browser.signIn('of-the-computer', true);
    browser.signIn('of-the-tab', false);
    await browser.signOut();
    expect([browser.tab.values(), browser.computer.values(), browser.isSignedIn()]).toEqual([[], [], false]);
    expect([browser.refusedLast(), requests]).toEqual([null, []]);
  });

  it('that is no longer accepted is forgotten, and named as the reason until the next sign-in', () => {
    const browser = openBrowser();
    browser.signIn('of-the-computer', true);
    browser.onRefused();
    expect([browser.computer.values(), browser.isSignedIn(), browser.refusedLast()]).toEqual([[], false, 'token']);
    browser.signIn('another', false);
    expect([browser.isSignedIn(), browser.refusedLast()]).toEqual([true, null]);
  });
});

describe('a sign-in at the issuer', () => {
  it('is ended by the service', async () => {
    const browser = openBrowser(ISSUER);
    expect([browser.isSignedIn(), browser.token()]).toEqual([true, null]);
    await browser.signOut();
    expect([requests, browser.isSignedIn()]).toEqual([['POST /auth/logout'], false]);
  });

  it('continues if the service could not end it', async () => {
    const browser = openBrowser(ISSUER);
    status = 503;
    await expect(browser.signOut()).rejects.toThrow('The service did not end the sign-in');
    expect([browser.isSignedIn(), browser.countChanges()]).toEqual([true, 0]);
  });

  it('that is no longer accepted is named as the reason', () => {
    const browser = openBrowser(ISSUER);
    browser.onRefused();
    expect([browser.isSignedIn(), browser.refusedLast()]).toEqual([false, 'cookie']);
  });
});

it('notifies who listens of each change, until they leave', () => {
  const browser = openBrowser();
  browser.signIn('a', false);
  browser.onRefused();
  expect(browser.countChanges()).toBe(2);
  browser.unsubscribe();
  browser.signIn('b', false);
  expect(browser.countChanges()).toBe(2);
});

it.each([
  ['what the service answers', 200, ISSUER],
  ['none if the service refuses', 404, { issuer: null, login_url: null, signed_in: false }],
  ['none if the service is out of reach', null, { issuer: null, login_url: null, signed_in: false }],
])('knows of an issuer %s', async (_, answered, known) => {
  status = answered;
  expect(await askIssuer()).toEqual(known);
  expect(requests).toEqual(['GET /auth/session']);
});
