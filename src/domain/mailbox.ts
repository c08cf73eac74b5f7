interface Capacity<T> {
  /** How many items are kept for a slow reader. */
  most: number;
  /** Replaces all of them if there would be more. */
  instead: T;
  /** The reader receives `instead` when it has waited for so long. */
  idle_ms?: number;
}

/** A queue with one reader; the writer never waits for it. After `end` the reader receives what is left, and nothing more. */
export function mailbox<T>(capacity?: Capacity<T>) {
  let waiting: T[] = [];
  let ended = false;
  let wake = () => {};
  /** Resolves when something has come, or with true when nothing has for so long. */
  async function woken(idle_ms?: number): Promise<boolean> {
    let idle = false;
    let timer: NodeJS.Timeout | undefined;
    const rest = () => {
      idle = true;
      wake();
    };
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (idle_ms !== undefined) timer = setTimeout(rest, idle_ms);
    });
    clearTimeout(timer);
    return idle;
  }
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
        const idle = await woken(capacity?.idle_ms);
        if (idle && capacity && waiting.length === 0 && !ended) yield capacity.instead;
      }
    },
  };
}
