interface Channel<M> {
  all: Set<(message: M) => void>;
  opened: Promise<void>;
  closing?: NodeJS.Timeout;
}

/** Who watches one run often watches the next one of the same workflow. */
const LINGER_MS = 10_000;

/** Listeners by channel; a channel is opened for its first listener and closed a while after its last. */
export function listeners<M>(door: { open(channel: string): Promise<void>; close(channel: string): void }) {
  const channels = new Map<string, Channel<M>>();
  return {
    async add(channel: string, listener: (message: M) => void): Promise<() => void> {
      let entry = channels.get(channel);
      if (!entry) {
        entry = { all: new Set(), opened: door.open(channel) };
        channels.set(channel, entry);
      }
      const { all, opened } = entry;
      all.add(listener);
      clearTimeout(entry.closing);
      const close = () => {
        if (channels.delete(channel)) door.close(channel);
      };
      const remove = () => {
        if (all.delete(listener) && all.size === 0) entry.closing = setTimeout(close, LINGER_MS).unref();
      };
      try {
        await opened;
      } catch (error) {
        all.delete(listener);
        if (channels.get(channel) === entry) close();
        throw error;
      }
      return remove;
    },
    tell(channel: string, message: M) {
      for (const listener of channels.get(channel)?.all ?? []) listener(message);
    },
    names: () => [...channels.keys()],
  };
}
