const KEY = 'perdura.access-token';

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
 * service's answer about it.
 */
export function browserSession(stores: { tab: Storage; computer: Storage }, issuer: Issuer = NO_ISSUER) {
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const token = () => stores.tab.getItem(KEY) ?? stores.computer.getItem(KEY);
  let has_cookie = issuer.signed_in;
  let ended: Ended | null = null;
  const end = (was_refused: boolean) => {
    ended = was_refused ? (token() === null ? 'cookie' : 'token') : null;
    stores.tab.removeItem(KEY);
    stores.computer.removeItem(KEY);
    has_cookie = false;
    notify();
  };
  return {
    token,
    issuer,
    isSignedIn: () => has_cookie || token() !== null,
    signIn(access_token: string, keep: boolean) {
      (keep ? stores.computer : stores.tab).setItem(KEY, access_token);
      ended = null;
      notify();
    },
    /** Rejects if the service could not end the sign-in; it then continues. */
    async signOut(): Promise<void> {
      if (has_cookie) {
        const { ok } = await fetch('/auth/logout', { method: 'POST' });
        if (!ok) throw new Error('The service did not end the sign-in');
      }
      end(false);
    },
    onRefused: () => end(true),
    /** Returns what the service no longer accepted, if that ended the last session. */
    refusedLast: () => ended,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Asks the service for its issuer. If it does not answer, the dashboard accepts only tokens. */
export async function askIssuer(): Promise<Issuer> {
  const response = await fetch('/auth/session', { signal: AbortSignal.timeout(ISSUER_MS) }).catch(() => null);
  return response?.ok ? ((await response.json()) as Issuer) : NO_ISSUER;
}
