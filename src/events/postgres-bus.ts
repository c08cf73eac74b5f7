import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { channelOf, type EventBus, HALT_CHANNEL } from './bus.ts';
import { listeners } from './listeners.ts';
import { noticeOf } from './notice.ts';

interface PostgresBusOptions {
  url: string;
  /** Where requests to halt are sent from. */
  pool: pg.Pool;
  log: (message: string) => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * LISTEN on one connection of its own. The database tells of events in the transaction that writes them, so there is
 * nothing to announce. When the connection breaks it is made anew and every listener is told that it may have missed some.
 */
export async function postgresBus({ url, pool, log }: PostgresBusOptions): Promise<EventBus> {
  let closed = false;
  let client: pg.Client | null = null;
  // A connection takes one statement at a time; the others wait for their turn.
  let turn: Promise<unknown> = Promise.resolve();
  const ask = (statement: string): Promise<unknown> => {
    const mine = turn.then(() => client?.query(statement));
    turn = mine.catch(() => {});
    return mine;
  };
  const channels = listeners<string>({
    open: async (channel) => {
      await ask(`LISTEN "${channel}"`);
    },
    close: (channel) => {
      ask(`UNLISTEN "${channel}"`).catch(() => {});
    },
  });

  async function connect(): Promise<void> {
    const fresh = new pg.Client({ connectionString: url, application_name: 'perdura events', keepAlive: true });
    fresh.on('notification', ({ channel, payload = '' }) => channels.tell(channel, payload));
    fresh.on('error', () => {});
    await fresh.connect();
    let listening = false;
    fresh.once('end', () => {
      if (listening) void reconnect();
    });
    // From here on a new channel is listened to by its first listener; those there are already, here.
    client = fresh;
    for (const channel of channels.names()) await ask(`LISTEN "${channel}"`);
    listening = true;
    for (const channel of channels.names()) channels.tell(channel, '');
  }

  async function reconnect(): Promise<void> {
    client = null;
    for (let pause = FIRST_PAUSE_MS; !closed; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await connect();
      } catch (error) {
        client = null;
        log(`The event connection is down, trying again: ${(error as Error).message}`);
        await wait(pause, undefined, { ref: false });
      }
    }
  }

  await connect();
  return {
    subscribe: (workflow_id, on_notice) => channels.add(channelOf(workflow_id), (payload) => on_notice(noticeOf(payload))),
    announce() {},
    async halt(task_id) {
      await pool.query('SELECT pg_notify($1, $2)', [HALT_CHANNEL, task_id]);
    },
    onHalt: (listener) => channels.add(HALT_CHANNEL, listener),
    async ping() {
      if (!client) throw new Error('The event connection is down');
      await ask('SELECT 1');
    },
    async close() {
      closed = true;
      await client?.end();
    },
  };
}
