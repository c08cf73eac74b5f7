/** Listeners by channel; a channel is opened for its first listener and closed after its last. */
export function listeners<M>(door: { open(channel: string): Promise<void>; close(channel: string): void }) {
  const channels = new Map<string, { all: Set<(message: M) => void>; opened: Promise<void> }>();
  return {
    async add(channel: string, listener: (message: M) => void): Promise<() => void> {
      let entry = channels.get(channel);
      if (!entry) {
        entry = { all: new Set(), opened: door.open(channel) };
        channels.set(channel, entry);
      }
      const { all, opened } = entry;
      all.add(listener);
      const remove = () => {
        if (!all.delete(listener) || all.size > 0 || channels.get(channel)?.all !== all) return;
        channels.delete(channel);
        door.close(channel);
      };
      try {
        await opened;
      } catch (error) {
        remove();
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
