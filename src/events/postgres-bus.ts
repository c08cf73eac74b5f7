import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { channelOf, type EventBus, HALT_CHANNEL, MISSED, type Notice, PROBE_MS } from './bus.ts';
import { listeners } from './listeners.ts';
import { noticeOf, textsOf } from './notice.ts';

interface PostgresBusOptions {
  /** How to reach the database. */
  connection: pg.ClientConfig;
  /** The pool that sends halt requests. */
  pool: pg.Pool;
  log: (message: string) => void;
}

/** Where the database publishes texts of many runs together: one channel, so that a worker's batch needs few notifications. */
const TEXTS_CHANNEL = 'perdura:texts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const GOODBYE_MS = 1_000;

/**
 * LISTEN on a dedicated connection. The database publishes events in the transaction that writes them, so there is nothing to
 * announce. A connection that breaks or does not answer a probe is replaced, and every listener is notified that it may have
 * missed some.
 */
export function postgresBus({ connection, pool, log }: PostgresBusOptions): EventBus {
  const closing = new AbortController();
  let client: pg.Client | null = null;
  /** The first attempt to connect has ended, in whatever way. */
  const attempted = Promise.withResolvers<void>();
  // A connection runs one statement at a time; the others queue.
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  };
  const send = (statement: string, on: pg.Client | null): Promise<unknown> =>
    on && on === client ? on.query(statement) : Promise.reject(new Error(DOWN));
  const ask = (statement: string, on = client): Promise<unknown> => inTurn(() => send(statement, on));
  /** Channels that wait for their turn. Streams that begin at once share one statement. */
  let opening: string[] | null = null;
  const listen = (...names: string[]): Promise<void> => {
    if (opening) {
      opening.push(...names);
      return Promise.resolve();
    }
    const all = [...names];
    const on = client;
    opening = all;
    return inTurn(async () => {
      if (opening === all) opening = null;
      await send([TEXTS_CHANNEL, ...all].map((channel) => `LISTEN "${channel}"`).join('; '), on);
      // Covers what was written since the listener last read the record.
      for (const channel of all) channels.notify(channel, MISSED);
    });
  };
  const unlisten = (channel: string): Promise<unknown> => {
    const on = client;
    return inTurn(async () => {
      const names = channels.names();
      // A stream may have begun again, and share a statement that is sent before this.
      if (names.includes(channel)) return;
      await send(`UNLISTEN "${channel}"${names.length === 0 ? `; UNLISTEN "${TEXTS_CHANNEL}"` : ''}`, on);
    });
  };
  const channels = listeners<Notice>({
    // After a reconnect, all channels are subscribed again.
    open: (channel) => void listen(channel).catch(() => {}),
    close: (channel) => void unlisten(channel).catch(() => {}),
  });
  const halts = listeners<string>({
    open: (channel) => void ask(`LISTEN "${channel}"`).catch(() => {}),
    close: (channel) => void ask(`UNLISTEN "${channel}"`).catch(() => {}),
  });
  const notify = ({ channel, payload = '' }: pg.Notification) => {
    if (channel === HALT_CHANNEL) halts.notify(channel, payload);
    else if (channel !== TEXTS_CHANNEL) channels.notify(channel, noticeOf(payload));
    else for (const text of textsOf(payload)) channels.notify(channelOf(text.workflow_id), text);
  };

  /** Resolves when the connection has ended, whatever ended it. */
  async function serve(): Promise<void> {
    const fresh = new pg.Client({ ...connection, query_timeout: PROBE_MS });
    fresh.on('notification', notify);
    fresh.on('error', () => {});
    const ended = new Promise<void>((resolve) => fresh.once('end', resolve));
    try {
      await fresh.connect();
      client = fresh;
      attempted.resolve();
      turn = Promise.resolve();
      for (const channel of halts.names()) await ask(`LISTEN "${channel}"`);
      opening = null;
      if (channels.names().length > 0) await listen(...channels.names());
      while (!closing.signal.aborted) {
        await Promise.race([ended, wait(PROBE_MS, undefined, { ref: false, signal: closing.signal }).catch(() => {})]);
        await ask('SELECT 1', fresh);
      }
    } finally {
      client = null;
      attempted.resolve();
      // A silent server does not acknowledge the end either, and must not keep this process alive.
      (fresh as unknown as { unref(): void }).unref();
      await Promise.race([fresh.end(), wait(GOODBYE_MS)]);
    }
  }

  async function keepServing(): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; !closing.signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const begun = performance.now();
      await serve().catch((error: Error) => {
        if (!closing.signal.aborted) log(`The event connection is down, connecting again: ${error.message}`);
      });
      if (performance.now() - begun > LONGEST_PAUSE_MS) pause = FIRST_PAUSE_MS;
      await wait(pause, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  }

  const served = keepServing();
  return {
    subscribe: (workflow_id, on_notice) => channels.add(channelOf(workflow_id), on_notice),
    announce() {},
    halt(task_id) {
      pool
        .query('SELECT pg_notify($1, $2)', [HALT_CHANNEL, task_id])
        .catch((error: Error) => log(`The halt request was not published; workers will find it in the record: ${error.message}`));
    },
    onHalt: (listener) => halts.add(HALT_CHANNEL, listener),
    async ping() {
      if (!client) await Promise.race([attempted.promise, wait(PROBE_MS, undefined, { ref: false })]);
      if (!client) throw new Error(DOWN);
      await ask('SELECT 1');
    },
    async close() {
      closing.abort();
      // It may still be connecting.
      await Promise.race([served, wait(GOODBYE_MS)]);
    },
  };
}

const DOWN = 'The event connection is down';
