/** A gate that lets a limited number pass at a time, in the order of arrival. */
interface CallGate {
  /** Resolves with the function that lets the next one in; rejects with the signal's reason. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export function gate(size: number): CallGate {
  let free = size;
  const waiting: (() => void)[] = [];
  const leave = () => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return {
    enter(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return Promise.resolve(leave);
      }
      return new Promise((resolve, reject) => {
        const abort = () => {
          waiting.splice(waiting.indexOf(pass), 1);
          reject(signal.reason);
        };
        const pass = () => {
          signal.removeEventListener('abort', abort);
          resolve(leave);
        };
        signal.addEventListener('abort', abort, { once: true });
        waiting.push(pass);
      });
    },
  };
}
