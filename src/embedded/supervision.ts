import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from './files.ts';

/** A server that was started here and can be restarted on the same data and the same ports. */
export interface Restartable {
  name: string;
  log_file: string;
  isUp(): Promise<boolean>;
  /** Restarts the server; throws a readable error if it does not start. */
  restart(): Promise<void>;
}

interface Supervision {
  /** Rejects with a readable error if a server keeps dying. */
  failure: Promise<never>;
  /** Stops the supervision; resolves when no server is being started. */
  stop(): Promise<void>;
}

interface SupervisionOptions {
  log: Log;
  /** Called after each restart; its failures are logged. */
  on_restart(): Promise<void>;
}

const LOOK_MS = 500;
const FIRST_PAUSE_MS = 500;
/** The most restarts within the period. More of them mean a persistent fault. */
const MOST_RESTARTS = 5;
const WITHIN_MS = 10 * 60_000;

/** Restarts servers that have died, with growing pauses, and gives up on one that keeps dying. */
export function supervise(servers: readonly Restartable[], { log, on_restart }: SupervisionOptions): Supervision {
  const stopping = new AbortController();
  const pause = (ms: number) => wait(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {});

  async function keepUp(server: Restartable): Promise<void> {
    const restarts: number[] = [];
    for (; !stopping.signal.aborted; await pause(LOOK_MS)) {
      if (await server.isUp()) continue;
      while (restarts[0] !== undefined && restarts[0] < performance.now() - WITHIN_MS) restarts.shift();
      if (restarts.length >= MOST_RESTARTS) throw new Error(describeGiveUp(server));
      if (restarts.length > 0) await pause(FIRST_PAUSE_MS * 2 ** restarts.length);
      if (stopping.signal.aborted) return;
      restarts.push(performance.now());
      log(`${server.name} has died; restarting it`);
      await server
        .restart()
        .then(on_restart)
        .catch((error: Error) => log(error.message));
    }
  }

  const watching = servers.map(keepUp);
  const failure = new Promise<never>((_resolve, reject) => {
    for (const one of watching) one.catch(reject);
  });
  failure.catch(() => {});
  return {
    failure,
    async stop() {
      stopping.abort();
      await Promise.allSettled(watching);
    },
  };
}

const describeGiveUp = ({ name, log_file }: Restartable) =>
  `${name} died again after ${MOST_RESTARTS} restarts within ${WITHIN_MS / 60_000} minutes. Look at its log, ${log_file}, then start Perdura again.`;
