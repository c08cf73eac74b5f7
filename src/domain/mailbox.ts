interface Capacity<T> {
  /** The most that is kept for a slow reader, in the unit of `getSize`. */
  most: number;
  getSize(item: T): number;
  /**
   * The item that replaces all others if they would exceed `most`. Until the reader has received it, further items are dropped.
   */
  instead: T;
  /** The milliseconds without an item after which the reader receives `instead`. */
  idle_ms?: number;
  /** Called with each change of the kept size. */
  onSizeChange?(change: number): void;
}

/**
 * Creates a queue with one reader; the writer never waits for it. After `end` the reader receives the remaining items, and
 * nothing more.
 */
export function mailbox<T>(capacity?: Capacity<T>) {
  let waiting: T[] = [];
  let total = 0;
  let ended = false;
  let wake = () => {};
  const count = (change: number) => {
    total += change;
    capacity?.onSizeChange?.(change);
  };
  /** Resolves when an item has arrived, or with true after `idle_ms` without one. */
  async function waitForItem(idle_ms?: number): Promise<boolean> {
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
  function keep(item: T): void {
    const size = capacity?.getSize(item) ?? 0;
    if (capacity && waiting.at(-1) === capacity.instead) return;
    if (capacity && total + size > capacity.most) {
      waiting = [capacity.instead];
      count(-total);
    } else {
      waiting.push(item);
      count(size);
    }
  }
  function takeItem(): T {
    const item = waiting.shift() as T;
    count(-(item === capacity?.instead ? 0 : (capacity?.getSize(item) ?? 0)));
    return item;
  }
  return {
    put(item: T) {
      keep(item);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *read(): AsyncGenerator<T> {
      while (true) {
        while (waiting.length > 0) yield takeItem();
        if (ended) return;
        const idle = await waitForItem(capacity?.idle_ms);
        if (idle && capacity && waiting.length === 0 && !ended) yield capacity.instead;
      }
    },
  };
}
