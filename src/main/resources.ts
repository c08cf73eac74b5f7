export interface Resources {
  /** Keeps something until the end; `close` says how it ends. */
  hold<T>(it: T, close: (it: T) => unknown): T;
  /** Closes everything, the last opened first; one that fails does not keep the others. */
  close(): Promise<void>;
}

export function createResources(report: (error: unknown) => void): Resources {
  const closers: (() => unknown)[] = [];
  return {
    hold(it, close) {
      closers.push(() => close(it));
      return it;
    },
    async close() {
      for (let closer = closers.pop(); closer; closer = closers.pop()) {
        try {
          await closer();
        } catch (error) {
          report(error);
        }
      }
    },
  };
}
