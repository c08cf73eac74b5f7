import { Redis } from 'ioredis';
import { channelOf, type EventBus, HALT_CHANNEL } from './bus.ts';
import { listeners } from './listeners.ts';
import { noticeOf } from './notice.ts';

interface RedisBusOptions {
  url: string;
  log: (message: string) => void;
}

/** Events above this size are read from the record by whoever needs them. */
const LARGEST_NOTICE = 64 * 1024;

/**
 * Redis pub/sub. What is announced is already on record, so a message that Redis loses costs a watcher a moment: the next one,
 * or the word of a new connection, makes it read what it missed.
 */
export async function redisBus({ url, log }: RedisBusOptions): Promise<EventBus> {
  const options = { lazyConnect: true, maxRetriesPerRequest: 1, connectionName: 'perdura' };
  const publisher = new Redis(url, options);
  const subscriber = new Redis(url, options);
  for (const connection of [publisher, subscriber]) connection.on('error', (error) => log(`Redis: ${error.message}`));
  const channels = listeners<string>({
    open: async (channel) => {
      await subscriber.subscribe(channel);
    },
    close: (channel) => {
      subscriber.unsubscribe(channel).catch(() => {});
    },
  });
  subscriber.on('message', (channel: string, payload: string) => channels.tell(channel, payload));
  await Promise.all([publisher.connect(), subscriber.connect()]);
  subscriber.on('ready', () => {
    for (const channel of channels.names()) channels.tell(channel, '');
  });

  return {
    subscribe: (workflow_id, on_notice) => channels.add(channelOf(workflow_id), (payload) => on_notice(noticeOf(payload))),
    announce(workflow_id, notice) {
      const whole = JSON.stringify(notice);
      const payload = whole.length > LARGEST_NOTICE ? JSON.stringify({ last: notice.last }) : whole;
      publisher.publish(channelOf(workflow_id), payload).catch((error: Error) => log(`Redis took no event: ${error.message}`));
    },
    async halt(task_id) {
      await publisher.publish(HALT_CHANNEL, task_id);
    },
    onHalt: (listener) => channels.add(HALT_CHANNEL, listener),
    async ping() {
      await publisher.ping();
    },
    async close() {
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}
