export interface Resources {
  /** Keeps a resource until the end; `close` releases it. */
  hold<T>(it: T, close: (it: T) => unknown): T;
  /** Closes everything, the last opened first. A failure does not prevent the others from closing. */
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
