interface Channel<M> {
  all: Set<(message: M) => void>;
  closing?: NodeJS.Timeout;
}

/**
 * How long a channel stays open without listeners: a client that watches one run often watches the next one of the same
 * workflow.
 */
const LINGER_MS = 10_000;

/** Keeps listeners by channel. A channel opens with its first listener and closes some time after its last one leaves. */
export function listeners<M>(door: { open(channel: string): void; close(channel: string): void }) {
  const channels = new Map<string, Channel<M>>();
  return {
    add(channel: string, listener: (message: M) => void): () => void {
      const entry = channels.get(channel) ?? { all: new Set() };
      const { all } = entry;
      all.add(listener);
      clearTimeout(entry.closing);
      if (!channels.has(channel)) {
        channels.set(channel, entry);
        door.open(channel);
      }
      const close = () => {
        channels.delete(channel);
        door.close(channel);
      };
      return () => {
        if (all.delete(listener) && all.size === 0) entry.closing = setTimeout(close, LINGER_MS).unref();
      };
    },
    notify(channel: string, message: M) {
      for (const listener of channels.get(channel)?.all ?? []) listener(message);
    },
    names: () => [...channels.keys()],
  };
}
