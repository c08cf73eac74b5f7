interface Capacity<T> {
  /** How many items are kept for a slow reader. */
  most: number;
  /** Replaces all of them if there would be more. */
  instead: T;
}

/** A queue with one reader; the writer never waits for it. After `end` the reader receives what is left, and nothing more. */
export function mailbox<T>(capacity?: Capacity<T>) {
  let waiting: T[] = [];
  let ended = false;
  let wake = () => {};
  return {
    put(item: T) {
      if (capacity && waiting.length >= capacity.most) waiting = [capacity.instead];
      else waiting.push(item);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *read(): AsyncGenerator<T> {
      while (true) {
        while (waiting.length > 0) yield waiting.shift() as T;
        if (ended) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
