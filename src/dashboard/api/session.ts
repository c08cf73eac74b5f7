import { createDrafts } from './drafts.ts';

const KEY = 'perdura.access-token';
/** Holds the id of a person for a moment, so that their other tabs learn that they have signed out. */
const SIGNED_OUT = 'perdura.signed-out';

export type Session = ReturnType<typeof browserSession>;

/** The service's way to sign in without a token, and whether this browser is signed in that way. */
interface Issuer {
  /** The issuer's address; null: the service has none. */
  issuer: string | null;
  login_url: string | null;
  signed_in: boolean;
}

const NO_ISSUER: Issuer = { issuer: null, login_url: null, signed_in: false };

/** How long the first screen waits for that answer. */
const ISSUER_MS = 5_000;

type Ended = 'token' | 'cookie';

/**
 * The person who uses the dashboard, identified in one of two ways. An access token is kept in this tab, or on this computer if
 * the user chooses so, and is never part of a URL. A sign-in at the issuer is a cookie that no script can read; `issuer` is the
 * service's answer about it. If a sign-in ends while a person's screen is open, the screen stays theirs, and the requests that
 * were refused wait until someone signs in.
 */
export function browserSession(stores: { tab: Storage; computer: Storage }, issuer: Issuer = NO_ISSUER) {
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const token = () => stores.tab.getItem(KEY) ?? stores.computer.getItem(KEY);
  let has_cookie = issuer.signed_in;
  let ended: Ended | null = null;
  let person: string | null = null;
  let screens = 0;
  const drafts = createDrafts(stores.computer, () => person);
  const isSignedIn = () => has_cookie || token() !== null;
  const refused_requests = new Set<(again: boolean) => void>();
  const answerRefused = (again: boolean) => {
    for (const answer of refused_requests) answer(again);
    refused_requests.clear();
  };
  const end = (was_refused: boolean) => {
    ended = was_refused ? (token() === null ? 'cookie' : 'token') : null;
    stores.tab.removeItem(KEY);
    stores.computer.removeItem(KEY);
    has_cookie = false;
  };
  /** Notes whose screen is open. That of another person, or of one who leaves, is closed, with its requests. */
  const change = (next: string | null) => {
    const is_other = next === null || (person !== null && next !== person);
    if (is_other) screens += 1;
    person = next;
    answerRefused(!is_other);
    notify();
  };
  return {
    token,
    issuer,
    drafts,
    isSignedIn,
    /** The id of the person whose screen is open; null: it is not known. */
    person: () => person,
    /** Changes when the screen passes to another person or to nobody, who must see nothing of it. */
    screens: () => screens,
    signIn(access_token: string, keep: boolean, whose: string) {
      (keep ? stores.computer : stores.tab).setItem(KEY, access_token);
      ended = null;
      change(whose);
    },
    /** Notes the person that the service knows by the token or cookie. */
    identify(whose: string) {
      if (whose !== person || refused_requests.size > 0) change(whose);
    },
    /**
     * Rejects if the service could not end the sign-in; it then continues. Removes the person's drafts from this computer, and
     * signs them out in their other tabs.
     */
    async signOut(): Promise<void> {
      if (has_cookie) {
        const { ok } = await fetch('/auth/logout', { method: 'POST' });
        if (!ok) throw new Error('The service did not end the sign-in');
      }
      if (person !== null) {
        drafts.removeAll(person);
        notifyOtherTabs(stores.computer, person);
      }
      end(false);
      change(null);
    },
    /** Called with what another tab has changed on this computer: the person has signed out, or a kept token is another one. */
    onOtherTab({ key, newValue: value }: Pick<StorageEvent, 'key' | 'newValue'>) {
      if (key === SIGNED_OUT && value !== null && value === person) {
        end(false);
        change(null);
      } else if (key === KEY) notify();
    },
    /**
     * Called with the token of a request that the service refused. Resolves to true once the request can be sent again: the
     * same person has signed in. Resolves to false if nobody's screen is open, or another person takes it over.
     */
    async onRefused(sent: string | null, signal?: AbortSignal | null): Promise<boolean> {
      // A late refusal of an earlier token must not end the sign-in that replaced it.
      if (isSignedIn() && sent !== token()) return true;
      if (isSignedIn()) end(true);
      if (person === null) {
        // What was read before it was known who reads it is not for the next person.
        change(null);
        return false;
      }
      // Another tab may have ended the sign-in, of which nobody has heard here yet.
      notify();
      signal?.throwIfAborted();
      const answer = Promise.withResolvers<boolean>();
      refused_requests.add(answer.resolve);
      signal?.addEventListener('abort', () => answer.reject(signal.reason), { once: true });
      return answer.promise;
    },
    /** Returns what the service no longer accepted, if that ended the last session. */
    refusedLast: () => ended,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Other tabs are not notified if the browser is full; the service refuses them if it has ended their sign-in. */
function notifyOtherTabs(computer: Storage, person: string): void {
  try {
    computer.setItem(SIGNED_OUT, person);
  } catch {}
  computer.removeItem(SIGNED_OUT);
}

/** Asks the service for its issuer. If it does not answer, the dashboard accepts only tokens. */
export async function askIssuer(): Promise<Issuer> {
  const response = await fetch('/auth/session', { signal: AbortSignal.timeout(ISSUER_MS) }).catch(() => null);
  return response?.ok ? ((await response.json()) as Issuer) : NO_ISSUER;
}
