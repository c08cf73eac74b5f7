import { notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { ApiProblem, type Client, clientOf } from './call.ts';
import type { Session } from './session.ts';

interface World {
  session: Session;
  client: Client;
}

const WorldContext = createContext<World | null>(null);

export function WorldProvider({ session, children }: { session: Session; children: ReactNode }) {
  const [world] = useState(() => ({ session, client: clientOf({ ...session, warned }) }));
  const [queries] = useState(queryClient);
  // What one person has read is not for the next one.
  useEffect(() => {
    const unsubscribe = session.subscribe(() => queries.clear());
    return () => void unsubscribe();
  }, [session, queries]);
  return (
    <WorldContext value={world}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </WorldContext>
  );
}

/** What the service did and doubts: it stays until it is closed. */
const warned = (warnings: { path: string; message: string }[]) =>
  notifications.show({
    title: 'Saved, with a doubt',
    message: warnings.map(({ message }) => message).join('\n'),
    color: 'yellow',
    autoClose: false,
    style: { whiteSpace: 'pre-line' },
    // Below a title its grey would be too pale to read.
    styles: { description: { color: 'var(--mantine-color-text)' } },
  });

/** What was refused stays refused; only what might work the next time is tried again. */
const queryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => failures < 2 && (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500),
      },
    },
  });

function useWorld(): World {
  const world = useContext(WorldContext);
  if (!world) throw new Error('WorldProvider is missing');
  return world;
}

export const useClient = () => useWorld().client;

export function useSession() {
  const { session } = useWorld();
  const token = useSyncExternalStore(session.subscribe, session.token);
  return { session, signed_in: token !== null };
}
