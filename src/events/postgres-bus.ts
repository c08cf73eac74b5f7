import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { getBackend, unrefConnection } from '../vendor/pg-internals.ts';
import { CHANGES_CHANNEL, type EventBus, HALT_CHANNEL, MISSED, type Notice, type PlacedChange, PROBE_MS } from './bus.ts';
import { listeners } from './listeners.ts';
import { type PlacedNotice, packNotices, parseChanges, parsePacket } from './notice.ts';

interface PostgresBusOptions {
  /** The configuration of the connection to the database. */
  connection: pg.ClientConfig;
  /** The pool that sends halt requests. */
  pool: pg.Pool;
  log: (message: string) => void;
}

/** The one channel of all runs, so that a process needs few notifications for the events that it announces together. */
const EVENTS_CHANNEL = 'perdura:events';
/** The largest packet in bytes: the server accepts less than 8,000. */
const LARGEST_PACKET = 7_900;
const ANNOUNCE = {
  name: 'announce',
  text: 'SELECT pg_notify(channel, packet) FROM unnest($1::text[], $2::text[]) AS announced (channel, packet)',
};
/** An empty message on the halt channel, to which every worker listens. It announces that the sender is connected. */
const HELLO = '';
/** Asks whether other processes of the installation are connected. */
const COMPANY = `SELECT count(*) > 1 AS others FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = current_setting('application_name')`;

interface Outbox {
  notices: string[];
  changes: string[];
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const GOODBYE_MS = 1_000;

/**
 * Creates a bus that uses LISTEN and NOTIFY on a dedicated connection. Events are announced once they are committed: a
 * notification in the transaction that writes them would lock the whole database until its commit is on disk. While a
 * notification is in progress, later events collect for the next one. Listeners in this process get events at once; if no other
 * process is connected, nothing is sent. A connection that breaks or does not answer a probe is replaced, and every listener is
 * notified that it may have missed some events.
 */
export function postgresBus({ connection, pool, log }: PostgresBusOptions): EventBus {
  const closing = new AbortController();
  let client: pg.Client | null = null;
  /** The id of the server process of this connection. Notifications carry it as their sender. */
  let own = 0;
  /** True if other processes may be listening, as the last probe or a later greeting showed. */
  let others = true;
  let greeted = false;
  /** Resolves when the first attempt to connect has ended, successful or not. */
  const attempted = Promise.withResolvers<void>();
  // A connection runs one statement at a time; the others queue.
  let turn: Promise<unknown> = Promise.resolve();
  const runInTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  };
  const send = (query: string | pg.QueryConfig, on: pg.Client | null): Promise<unknown> =>
    on && on === client ? on.query(query) : Promise.reject(new Error(DOWN));
  const ask = (query: string | pg.QueryConfig, on = client): Promise<unknown> => runInTurn(() => send(query, on));
  const listen = async (): Promise<void> => {
    await ask(`LISTEN "${EVENTS_CHANNEL}"`);
    // This covers what was written since the listeners last read the record.
    for (const workflow_id of channels.names()) channels.notify(workflow_id, MISSED);
  };
  const unlisten = (): Promise<unknown> => {
    const on = client;
    // A new stream may have asked to listen before this statement runs.
    return runInTurn(async () => channels.names().length === 0 && send(`UNLISTEN "${EVENTS_CHANNEL}"`, on));
  };
  /** The listeners for events, by workflow. */
  const channels = listeners<Notice>({
    open: () => void (channels.names().length === 1 && listen().catch(() => {})),
    close: () => void (channels.names().length === 0 && unlisten().catch(() => {})),
  });
  const door = {
    open: (channel: string) => void ask(`LISTEN "${channel}"`).catch(() => {}),
    close: (channel: string) => void ask(`UNLISTEN "${channel}"`).catch(() => {}),
  };
  const halts = listeners<string>(door);
  const changes = listeners<PlacedChange | null>(door);
  const greet = (sender: number) => {
    greeted ||= sender !== own;
    others ||= greeted;
  };
  const notify = ({ channel, payload = '', processId }: pg.Notification) => {
    if (channel === HALT_CHANNEL && payload === HELLO) greet(processId);
    else if (channel === HALT_CHANNEL) halts.notify(channel, payload);
    else if (processId === own) return;
    else if (channel === CHANGES_CHANNEL) for (const change of parseChanges(payload)) changes.notify(channel, change);
    else for (const { workflow_id, ...notice } of parsePacket(payload)) channels.notify(workflow_id, notice);
  };
  /** The notices and changes to be sent, as JSON. */
  let outbox: Outbox = { notices: [], changes: [] };
  let sending = false;
  const sendAll = async (): Promise<void> => {
    while (outbox.notices.length + outbox.changes.length > 0) await runInTurn(sendUnsent).catch(() => {});
    sending = false;
  };
  /** Sends the collected notices. Notices that cannot be sent are lost, but readers find their events in the record. */
  const sendUnsent = (): Promise<unknown> => {
    const notices = packNotices(outbox.notices, LARGEST_PACKET);
    const packets = [...notices, ...packNotices(outbox.changes, LARGEST_PACKET)];
    outbox = { notices: [], changes: [] };
    const packet_channels = packets.map((_, at) => (at < notices.length ? EVENTS_CHANNEL : CHANGES_CHANNEL));
    return send({ ...ANNOUNCE, values: [packet_channels, packets] }, client);
  };
  const sendSoon = (kind: keyof Outbox, text: string) => {
    if (!client || !others) return;
    outbox[kind].push(text);
    if (sending) return;
    sending = true;
    void sendAll();
  };

  async function probe(on: pg.Client): Promise<void> {
    greeted = false;
    const { rows } = (await ask(COMPANY, on)) as pg.QueryResult<{ others: boolean }>;
    others = greeted || rows[0]!.others;
  }

  /** Serves one connection; ends when the connection has ended, for whatever reason. */
  async function serve(): Promise<void> {
    const new_client = new pg.Client({ ...connection, query_timeout: PROBE_MS });
    new_client.on('notification', notify);
    new_client.on('error', () => {});
    const ended = new Promise<void>((resolve) => new_client.once('end', resolve));
    try {
      await new_client.connect();
      // Announced events are committed already, and after a crash nobody needs the announcement.
      await new_client.query('SET synchronous_commit TO off');
      client = new_client;
      own = getBackend(new_client);
      attempted.resolve();
      turn = Promise.resolve();
      others = true;
      await ask(`NOTIFY "${HALT_CHANNEL}", '${HELLO}'`);
      for (const channel of [...halts.names(), ...changes.names()]) await ask(`LISTEN "${channel}"`);
      // Without the connection, this process has missed changes, and others those of this process.
      changes.notify(CHANGES_CHANNEL, null);
      await ask(`NOTIFY "${CHANGES_CHANNEL}"`);
      if (channels.names().length > 0) await listen();
      while (!closing.signal.aborted) {
        await Promise.race([ended, wait(PROBE_MS, undefined, { ref: false, signal: closing.signal }).catch(() => {})]);
        await probe(new_client);
      }
    } finally {
      client = null;
      attempted.resolve();
      // A silent server never acknowledges the end, and must not keep this process alive.
      unrefConnection(new_client);
      await Promise.race([new_client.end(), wait(GOODBYE_MS)]);
    }
  }

  async function keepServing(): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; !closing.signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const start = performance.now();
      await serve().catch((error: Error) => {
        if (!closing.signal.aborted) log(`The event connection is down, connecting again: ${error.message}`);
      });
      if (performance.now() - start > LONGEST_PAUSE_MS) pause = FIRST_PAUSE_MS;
      await wait(pause, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  }

  const service_loop = keepServing();
  return {
    subscribe: (workflow_id, on_notice) => channels.add(workflow_id, on_notice),
    announce(workflow_id, notice) {
      const placed_notice: PlacedNotice = { workflow_id, ...notice };
      const whole = JSON.stringify(placed_notice);
      channels.notify(workflow_id, { ...notice, bytes: whole.length });
      sendSoon(
        'notices',
        Buffer.byteLength(whole) + 2 > LARGEST_PACKET ? JSON.stringify({ workflow_id, last: notice.last }) : whole,
      );
    },
    halt(task_id) {
      pool
        .query('SELECT pg_notify($1, $2)', [HALT_CHANNEL, task_id])
        .catch((error: Error) => log(`The halt request was not published; workers will find it in the record: ${error.message}`));
    },
    onHalt: (listener) => halts.add(HALT_CHANNEL, listener),
    publishChange(change) {
      changes.notify(CHANGES_CHANNEL, change);
      sendSoon('changes', JSON.stringify(change));
    },
    onChange: (listener) => changes.add(CHANGES_CHANNEL, listener),
    async ping() {
      if (!client) await Promise.race([attempted.promise, wait(PROBE_MS, undefined, { ref: false })]);
      await ask('SELECT 1');
    },
    async close() {
      closing.abort();
      // The bus may still be connecting.
      await Promise.race([service_loop, wait(GOODBYE_MS)]);
    },
  };
}

const DOWN = 'The event connection is down';
