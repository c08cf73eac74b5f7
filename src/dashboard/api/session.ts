const KEY = 'perdura.access-token';

export type Session = ReturnType<typeof browserSession>;

/** The access token, kept in this tab, or on this computer if the user chooses so. It is never part of a URL. */
export function browserSession(stores: { tab: Storage; computer: Storage }) {
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  let ended = false;
  const end = (refused: boolean) => {
    stores.tab.removeItem(KEY);
    stores.computer.removeItem(KEY);
    ended = refused;
    notify();
  };
  return {
    token: () => stores.tab.getItem(KEY) ?? stores.computer.getItem(KEY),
    signIn(token: string, keep: boolean) {
      (keep ? stores.computer : stores.tab).setItem(KEY, token);
      ended = false;
      notify();
    },
    signOut: () => end(false),
    refused: () => end(true),
    /** Whether the last session ended because the service refused its token. */
    wasRefused: () => ended,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
