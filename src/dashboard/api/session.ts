const KEY = 'perdura.access-token';

export type Session = ReturnType<typeof browserSession>;

/** The access token: in this tab only, or on this computer where the user asks for it. Never in an address. */
export function browserSession(stores: { tab: Storage; computer: Storage }) {
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of listeners) listener();
  };
  let ended = false;
  const end = (refused: boolean) => {
    stores.tab.removeItem(KEY);
    stores.computer.removeItem(KEY);
    ended = refused;
    tell();
  };
  return {
    token: () => stores.tab.getItem(KEY) ?? stores.computer.getItem(KEY),
    signIn(token: string, keep: boolean) {
      (keep ? stores.computer : stores.tab).setItem(KEY, token);
      ended = false;
      tell();
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
