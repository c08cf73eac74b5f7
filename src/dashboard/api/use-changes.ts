import { type Query, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { health } from '../../contracts/health.ts';
import { followChanges, inBatches, isAffected } from './changes.ts';
import { useClient, useSession } from './context.tsx';
import { isBeingRemoved } from './queries.ts';

/** How long a hidden tab stays connected: a browser opens few connections to one service, in all of its tabs. */
const HIDDEN_MS = 15_000;

/** Reads again what the service reports as changed, as long as someone is signed in and the tab can be seen. */
export function useChanges(): void {
  const queries = useQueryClient();
  const client = useClient();
  const { session } = useSession();
  useEffect(() => {
    const batches = inBatches((batch) => {
      const isStale = (query: Query) =>
        batch.some((change) => isAffected(change, describeQuery(query))) && !isBeingRemoved(queries, query.queryKey);
      void queries.invalidateQueries({ predicate: isStale });
    });
    const follow = (signal: AbortSignal) =>
      followChanges(client, {
        signal,
        onChange: batches.add,
        // What is being read now is not read twice.
        onOpen: () => void queries.invalidateQueries({}, { cancelRefetch: false }),
        onLost: () => void queries.invalidateQueries({ queryKey: [health.ready.operation] }),
      });
    const end = whileSeen(session, follow);
    return () => {
      end();
      batches.end();
    };
  }, [queries, client, session]);
}

/** Reads the path of what a query reads, and the ids in it. A query without a path reads what has no record. */
function describeQuery({ meta, queryKey }: Query): { path: string; ids: string[] } {
  const { params = {} } = Object(queryKey[1]) as { params?: Record<string, string> };
  return { path: String(meta?.path ?? ''), ids: Object.values(params) };
}

type Session = ReturnType<typeof useSession>['session'];

/** Follows while someone is signed in, and not in a tab that is hidden for long. Returns a function that ends it. */
function whileSeen(session: Session, follow: (signal: AbortSignal) => Promise<void>): () => void {
  let connection: AbortController | null = null;
  let hiding: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    if (connection || document.hidden || !session.isSignedIn()) return;
    connection = new AbortController();
    void follow(connection.signal);
  };
  const disconnect = () => {
    connection?.abort();
    connection = null;
  };
  const onVisibility = () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(disconnect, HIDDEN_MS);
    else connect();
  };
  const onSession = () => {
    disconnect();
    connect();
  };
  const unsubscribe = session.subscribe(onSession);
  document.addEventListener('visibilitychange', onVisibility);
  connect();
  return () => {
    unsubscribe();
    document.removeEventListener('visibilitychange', onVisibility);
    clearTimeout(hiding);
    disconnect();
  };
}
