import { Redis } from 'ioredis';
import {
  CHANGES_CHANNEL,
  type EventBus,
  HALT_CHANNEL,
  MISSED,
  type Notice,
  type PlacedChange,
  PROBE_MS,
  toChannel,
} from './bus.ts';
import { listeners } from './listeners.ts';
import { parseChanges, parseNotice } from './notice.ts';

interface RedisBusOptions {
  url: string;
  log: (message: string) => void;
}

/** The largest notice in bytes; watchers read larger events from the record. */
const LARGEST_NOTICE = 64 * 1024;

const CONNECT_MS = 5_000;
const LONGEST_PAUSE_MS = 2_000;

/** The options of both clients. Nothing is queued while Redis is down, because announced events are in the record. */
const OPTIONS = {
  connectionName: 'perdura',
  connectTimeout: CONNECT_MS,
  commandTimeout: PROBE_MS,
  keepAlive: CONNECT_MS,
  enableOfflineQueue: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (attempt: number) => Math.min(attempt * 100, LONGEST_PAUSE_MS),
};

/**
 * Creates a bus that uses Redis pub/sub. Announced events are already in the record, so a lost message only delays a watcher:
 * it reads what it missed at the next message, its next read of the record, or the notice after a reconnect.
 */
export function redisBus({ url, log }: RedisBusOptions): EventBus {
  const reportOnce = onceEach(log);
  const publisher = new Redis(url, OPTIONS);
  const subscriber = new Redis(url, OPTIONS);
  const listen = async (channel: string) => {
    await subscriber.subscribe(channel);
    // This covers what was written since the listener last read the record.
    if (channel === CHANGES_CHANNEL) changes.notify(channel, null);
    else channels.notify(channel, MISSED);
  };
  // After a reconnect, the client subscribes to all channels again.
  const door = {
    open: (channel: string) => void listen(channel).catch(() => {}),
    close: (channel: string) => void subscriber.unsubscribe(channel).catch(() => {}),
  };
  const channels = listeners<Notice>(door);
  const halts = listeners<string>(door);
  const changes = listeners<PlacedChange | null>(door);
  subscriber.on('message', (channel: string, payload: string) => {
    if (channel === HALT_CHANNEL) halts.notify(channel, payload);
    else if (channel === CHANGES_CHANNEL) for (const change of parseChanges(payload)) changes.notify(channel, change);
    else channels.notify(channel, parseNotice(payload));
  });
  subscriber.on('ready', () => {
    for (const channel of [...halts.names(), ...changes.names(), ...channels.names()]) door.open(channel);
  });
  // Changes that were not published while the connection was down are missed by everybody.
  publisher.on('ready', () => void publisher.publish(CHANGES_CHANNEL, '').catch(() => {}));
  // Without a connection, the error of a command describes only the client's own queue; these are the real faults.
  const errors_by_connection = new Map<Redis, string>();
  const probes = [publisher, subscriber].map((connection) => {
    connection.on('error', (error) => {
      errors_by_connection.set(connection, error.message);
      reportOnce(`Redis is unavailable, events are read from the record: ${error.message}`);
    });
    connection.on('ready', () => {
      errors_by_connection.delete(connection);
      reportOnce(null);
    });
    return setInterval(() => void probe(connection), PROBE_MS).unref();
  });

  return {
    subscribe: (workflow_id, on_notice) => channels.add(toChannel(workflow_id), on_notice),
    announce(workflow_id, notice) {
      if (publisher.status !== 'ready') return;
      const whole = JSON.stringify(notice);
      const payload = Buffer.byteLength(whole) > LARGEST_NOTICE ? JSON.stringify({ last: notice.last }) : whole;
      publisher
        .publish(toChannel(workflow_id), payload)
        .catch((error: Error) => reportOnce(`Redis did not accept an event; watchers read it from the record: ${error.message}`));
    },
    halt(task_id) {
      publisher
        .publish(HALT_CHANNEL, task_id)
        .catch((error: Error) => log(`The halt request was not published; workers will find it in the record: ${error.message}`));
    },
    onHalt: (listener) => halts.add(HALT_CHANNEL, listener),
    publishChange(change) {
      if (publisher.status !== 'ready') return;
      publisher.publish(CHANGES_CHANNEL, JSON.stringify([change])).catch(() => {});
    },
    onChange: (listener) => changes.add(CHANGES_CHANNEL, listener),
    async ping() {
      const pingConnection = (connection: Redis) =>
        connection.ping().catch((error: Error) => {
          throw new Error(`Redis is unavailable (REDIS_URL): ${errors_by_connection.get(connection) ?? error.message}`);
        });
      await Promise.all([publisher, subscriber].map(pingConnection));
    },
    async close() {
      for (const timer of probes) clearInterval(timer);
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}

/** Replaces a connection that does not answer: nothing else detects a silent server. */
async function probe(connection: Redis): Promise<void> {
  if (connection.status !== 'ready') return;
  await connection.ping().catch(() => connection.disconnect(true));
}

/** Logs each new message once: a server that is down is retried several times a second. Null means it is up again. */
function onceEach(log: (message: string) => void): (message: string | null) => void {
  let last: string | null = null;
  return (message) => {
    if (message !== null && message !== last) log(message);
    last = message;
  };
}
