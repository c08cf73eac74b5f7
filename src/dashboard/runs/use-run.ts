import { useEffect, useRef, useState } from 'react';
import type { RunEvent } from '../../contracts/events.ts';
import type { ApiProblem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { type Connection, followRun } from '../api/stream.ts';
import { applyEvents, emptyRun, type LiveRun } from './run-state.ts';

const PAUSE_MS = 40;

export interface Followed {
  run: LiveRun;
  connection: Connection;
  problem: ApiProblem | null;
}

/** The state of a run from its stream. Events are applied in batches, so that a fast model does not cause a render per word. */
export function useRun(workflow_id: string, task_id: string): Followed {
  const client = useClient();
  const [run, setRun] = useState<LiveRun>(emptyRun);
  const [connection, setConnection] = useState<Connection>('connecting');
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const waiting = useRef<RunEvent[]>([]);

  useEffect(() => {
    const unmount = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      timer = undefined;
      const events = waiting.current;
      waiting.current = [];
      setRun((state) => applyEvents(state, events));
    };
    waiting.current = [];
    setRun(emptyRun);
    setProblem(null);
    followRun(client, {
      workflow_id,
      task_id,
      signal: unmount.signal,
      onConnection: setConnection,
      onEvents(events) {
        waiting.current.push(...events);
        timer ??= setTimeout(show, PAUSE_MS);
      },
    }).catch(setProblem);
    return () => {
      unmount.abort();
      clearTimeout(timer);
    };
  }, [client, workflow_id, task_id]);

  return { run, connection, problem };
}
