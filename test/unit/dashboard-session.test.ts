import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { askIssuer, browserSession } from '../../src/dashboard/api/session.ts';

interface Change {
  key: string;
  newValue: string | null;
}

/** What a browser keeps, by key, and the changes that its other tabs learn of. */
function createStorage() {
  const kept = new Map<string, string>();
  const changes: Change[] = [];
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, newValue: string) => {
      kept.set(key, newValue);
      changes.push({ key, newValue });
    },
    removeItem: (key: string) => {
      if (kept.delete(key)) changes.push({ key, newValue: null });
    },
    key: (at: number) => [...kept.keys()][at] ?? null,
    get length() {
      return kept.size;
    },
  };
  return { storage: storage as Storage, changes, values: () => [...kept.values()] };
}

const [ADA, EVE] = ['github:7', 'github:11'];
const ISSUER = { issuer: 'https://id.example', login_url: '/auth/login', signed_in: true };

/** A browser without a sign-in, or with the cookie of one, and how often its session has changed. */
function openBrowser(issuer?: typeof ISSUER, computer = createStorage()) {
  const tab = createStorage();
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
    browser.signIn('of-the-tab', false, ADA);
    expect([browser.tab.values(), browser.computer.values()]).toEqual([['of-the-tab'], []]);
    const another = openBrowser();
    another.signIn('of-the-computer', true, ADA);
    expect([another.tab.values(), another.computer.values()]).toEqual([[], ['of-the-computer']]);
    expect([browser.token(), another.token(), another.isSignedIn()]).toEqual(['of-the-tab', 'of-the-computer', true]);
  });

  it('of the tab counts more than that of the computer', () => {
    const browser = openBrowser();
    browser.signIn('of-the-computer', true, ADA);
    browser.signIn('of-the-tab', false, ADA);
    expect(browser.token()).toBe('of-the-tab');
  });

  it('is kept nowhere after signing out, of which the service need not know', async () => {
    const browser = openBrowser();
    browser.signIn('of-the-computer', true, ADA);
    browser.signIn('of-the-tab', false, ADA);
    await browser.signOut();
    expect([browser.tab.values(), browser.computer.values(), browser.isSignedIn()]).toEqual([[], [], false]);
    expect([browser.refusedLast(), requests]).toEqual([null, []]);
  });

  it('that is no longer accepted is forgotten, and named as the reason until the next sign-in', () => {
    const browser = openBrowser();
    browser.signIn('of-the-computer', true, ADA);
    void browser.onRefused(browser.token());
    expect([browser.computer.values(), browser.isSignedIn(), browser.refusedLast()]).toEqual([[], false, 'token']);
    browser.signIn('another', false, ADA);
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
    void browser.onRefused(browser.token());
    expect([browser.isSignedIn(), browser.refusedLast()]).toEqual([false, 'cookie']);
  });
});

describe('a request that is refused while a screen is open', () => {
  /** A browser whose person has signed in, and a request with their token that was refused. */
  const interrupt = () => {
    const browser = openBrowser();
    browser.signIn('of-ada', false, ADA);
    return { browser, refused: browser.onRefused('of-ada') };
  };

  it('is sent again once the same person has signed in; the screen stays', async () => {
    const { browser, refused } = interrupt();
    expect([browser.isSignedIn(), browser.person(), browser.screens(), browser.refusedLast()]).toEqual([false, ADA, 0, 'token']);
    const later = browser.onRefused(null);
    browser.signIn('newer', false, ADA);
    expect([await refused, await later, browser.screens()]).toEqual([true, true, 0]);
  });

  it('is not sent again if another person signs in, who gets another screen', async () => {
    const { browser, refused } = interrupt();
    browser.signIn('of-eve', false, EVE);
    expect([await refused, browser.person(), browser.screens()]).toEqual([false, EVE, 1]);
  });

  it('is sent again at once, and ends no sign-in, if it was sent with the token of before', async () => {
    const { browser } = interrupt();
    browser.signIn('newer', false, ADA);
    expect([await browser.onRefused('of-ada'), browser.token(), browser.isSignedIn()]).toEqual([true, 'newer', true]);
  });

  it('is given up with the request', async () => {
    const { browser } = interrupt();
    const leaving = new AbortController();
    const refused = browser.onRefused(null, leaving.signal);
    leaving.abort(new Error('left'));
    await expect(refused).rejects.toThrow('left');
  });

  it('is not sent again without a screen, or after signing out', async () => {
    const nobody = openBrowser(ISSUER);
    expect([await nobody.onRefused(null), nobody.isSignedIn()]).toEqual([false, false]);
    const { browser, refused } = interrupt();
    await browser.signOut();
    expect([await refused, browser.person(), browser.screens()]).toEqual([false, null, 1]);
  });
});

describe('two tabs of one browser', () => {
  /** Ada's tab, a second tab of the same browser, and the way in which the first learns what the second has stored. */
  const openTwo = () => {
    const computer = createStorage();
    const ada = openBrowser(undefined, computer);
    ada.signIn('kept', true, ADA);
    const other = openBrowser(undefined, computer);
    const hear = () => {
      for (const change of computer.changes.splice(0)) ada.onOtherTab(change);
    };
    computer.changes.length = 0;
    return { ada, other, hear };
  };

  it('asks for another sign-in if the kept token is gone, whether or not the tab has been notified of it', async () => {
    const { ada, other } = openTwo();
    void other.onRefused('kept');
    expect([ada.isSignedIn(), ada.countChanges()]).toEqual([false, 1]);
    const refused = ada.onRefused(null);
    expect([ada.countChanges(), ada.person(), ada.screens()]).toEqual([2, ADA, 0]);
    ada.signIn('newer', false, ADA);
    expect(await refused).toBe(true);
  });

  it('continues once the same person has signed in in the other tab', async () => {
    const { ada, other, hear } = openTwo();
    const refused = ada.onRefused('kept');
    // A tab is not notified of changes that it makes itself.
    ada.computer.changes.length = 0;
    other.signIn('newer', true, ADA);
    hear();
    expect([ada.token(), ada.countChanges()]).toEqual(['newer', 3]);
    ada.identify(ADA);
    expect([await refused, ada.screens()]).toEqual([true, 0]);
  });

  it('gives up its requests if another person has signed in there', async () => {
    const { ada, other, hear } = openTwo();
    const refused = ada.onRefused('kept');
    other.signIn('of-eve', true, EVE);
    hear();
    ada.identify(EVE);
    expect([await refused, ada.screens()]).toEqual([false, 1]);
  });

  it('signs out a person in both, and nobody else', async () => {
    const { ada, other, hear } = openTwo();
    ada.signIn('of-the-tab', false, ADA);
    const eve = openBrowser(undefined, other.computer);
    eve.signIn('of-eve', false, EVE);
    await eve.signOut();
    hear();
    expect([ada.token(), ada.person(), ada.screens()]).toEqual(['of-the-tab', ADA, 0]);
    other.identify(ADA);
    await other.signOut();
    hear();
    expect([ada.token(), ada.person(), ada.screens(), ada.computer.values()]).toEqual([null, null, 1, []]);
  });
});

it('also closes a screen whose person the service has not named yet', async () => {
  const refused = openBrowser(ISSUER);
  expect([await refused.onRefused(null), refused.screens()]).toEqual([false, 1]);
  const leaving = openBrowser(ISSUER);
  await leaving.signOut();
  expect(leaving.screens()).toBe(1);
  leaving.signIn('of-ada', false, ADA);
  expect(leaving.screens()).toBe(1);
});

it('learns from the service whose screen is open, also if a cookie has become that of another person', () => {
  const browser = openBrowser(ISSUER);
  browser.identify(ADA);
  browser.identify(ADA);
  expect([browser.person(), browser.screens(), browser.countChanges()]).toEqual([ADA, 0, 1]);
  browser.identify(EVE);
  expect([browser.person(), browser.screens()]).toEqual([EVE, 1]);
});

describe('a draft', () => {
  const WEEK_MS = 7 * 24 * 3_600_000;
  const openTab = (computer: Storage, person: string | null) => {
    const session = browserSession({ tab: createStorage().storage, computer });
    if (person) session.identify(person);
    return session;
  };

  it('is found by the person who typed it, in another tab too, and by nobody else', () => {
    const { storage, values } = createStorage();
    expect(openTab(storage, ADA).drafts.write('prompt:5', 'Pay')).toBe(true);
    expect(openTab(storage, ADA).drafts.read('prompt:5')).toEqual({ at: expect.any(Number), typed: 'Pay' });
    expect(openTab(storage, ADA).drafts.read('prompt:7')).toBeNull();
    expect([openTab(storage, EVE).drafts.read('prompt:5'), openTab(storage, null).drafts.read('prompt:5')]).toEqual([null, null]);
    expect(openTab(storage, null).drafts.write('prompt:5', 'Steal')).toBe(false);
    expect(values()).toHaveLength(1);
  });

  it('stays if its form was opened before it was known who is signed in', () => {
    const { storage } = createStorage();
    openTab(storage, ADA).drafts.write('prompt:5', 'Pay');
    const early = openTab(storage, null);
    expect(early.drafts.read('prompt:5')).toBeNull();
    early.identify(ADA);
    early.drafts.write('prompt:5', null);
    expect(early.drafts.read('prompt:5')).toEqual({ at: expect.any(Number), typed: 'Pay' });
    early.drafts.write('prompt:5', null);
    expect(early.drafts.read('prompt:5')).toBeNull();
  });

  it('is removed when it was sent, and with all others when the person signs out', async () => {
    const { storage, values } = createStorage();
    openTab(storage, EVE).drafts.write('prompt:5', 'Hers');
    const ada = openTab(storage, ADA);
    for (const place of ['prompt:5', 'prompt:7', 'chat:11']) ada.drafts.write(place, 'Mine');
    ada.drafts.write('prompt:7', null);
    expect(values()).toHaveLength(3);
    await ada.signOut();
    expect(values().map((text) => JSON.parse(text).typed)).toEqual(['Hers']);
  });

  it('is kept for a week after it was last changed', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    const { storage, values } = createStorage();
    const { drafts } = openTab(storage, ADA);
    drafts.write('prompt:5', 'Pay');
    vi.setSystemTime(WEEK_MS - 1);
    // Only another text is a change.
    drafts.write('prompt:5', 'Pay');
    expect(drafts.read('prompt:5')).toEqual({ at: 0, typed: 'Pay' });
    vi.setSystemTime(WEEK_MS);
    expect([drafts.read('prompt:5'), values()]).toEqual([null, [expect.any(String)]]);
    openTab(storage, EVE);
    expect(values()).toEqual([]);
    vi.useRealTimers();
  });

  it('is not kept, and leaves no older one behind, if the browser is full', () => {
    const { storage, values } = createStorage();
    const { drafts } = openTab(storage, ADA);
    drafts.write('prompt:5', 'Pay');
    storage.setItem = () => {
      throw new DOMException('full', 'QuotaExceededError');
    };
    expect([drafts.write('prompt:5', 'Pay 11'), values()]).toEqual([false, []]);
  });

  it('does not keep a person signed in if the browser is full', async () => {
    const { storage } = createStorage();
    const session = openTab(storage, ADA);
    storage.setItem = () => {
      throw new DOMException('full', 'QuotaExceededError');
    };
    await session.signOut();
    expect(session.person()).toBeNull();
  });
});

it('notifies who listens of each change, until they leave', () => {
  const browser = openBrowser();
  browser.signIn('a', false, ADA);
  void browser.onRefused(browser.token());
  expect(browser.countChanges()).toBe(2);
  browser.unsubscribe();
  browser.signIn('b', false, ADA);
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
