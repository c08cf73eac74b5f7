import { notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { ApiProblem, type Client, createClient } from './call.ts';
import type { Session } from './session.ts';

interface World {
  session: Session;
  client: Client;
}

const WorldContext = createContext<World | null>(null);

export function WorldProvider({ session, children }: { session: Session; children: ReactNode }) {
  const [world] = useState(() => ({ session, client: createClient({ ...session, onWarned: showWarnings }) }));
  const [queries] = useState(createQueryClient);
  useEffect(() => {
    let [screens, signed_in, token] = [session.screens(), session.isSignedIn(), session.token()];
    const unsubscribe = session.subscribe(() => {
      // The next person must not see data that this one has read.
      if (session.screens() !== screens) queries.clear();
      else if (session.isSignedIn() && (!signed_in || session.token() !== token)) void queries.invalidateQueries();
      [screens, signed_in, token] = [session.screens(), session.isSignedIn(), session.token()];
    });
    window.addEventListener('storage', session.onOtherTab);
    return () => {
      unsubscribe();
      window.removeEventListener('storage', session.onOtherTab);
    };
  }, [session, queries]);
  return (
    <WorldContext value={world}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </WorldContext>
  );
}

/** Shows the warnings of a successful write until they are closed. */
const showWarnings = (warnings: { path: string; message: string }[]) =>
  notifications.show({
    title: 'Saved with a warning',
    message: warnings.map(({ message }) => message).join('\n'),
    color: 'yellow',
    autoClose: false,
    style: { whiteSpace: 'pre-line' },
    // The default grey below a title has too little contrast.
    styles: { description: { color: 'var(--mantine-color-text)' } },
  });

/**
 * Creates the cache. It retries only failures that may be temporary; a refusal is final. `always`: the service may run on this
 * machine, so requests are sent, and their failures shown, even if the browser is offline.
 */
const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        staleTime: 5_000,
        retry: (failures, error) => failures < 2 && (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500),
      },
    },
  });

const useWorld = (): World => useContext(WorldContext)!;

export const useClient = () => useWorld().client;

export function useSession() {
  const { session } = useWorld();
  const signed_in = useValue(session, session.isSignedIn);
  const person = useValue(session, session.person);
  const screens = useValue(session, session.screens);
  return { session, signed_in, person, screens };
}

/** Tests render without a browser: the server's value is the same. */
const useValue = <T,>({ subscribe }: Session, get: () => T): T => useSyncExternalStore(subscribe, get, get);
