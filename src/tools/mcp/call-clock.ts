export interface CallClock {
  /** Restarts the limit on silence, because the server has reported progress. */
  progress(): void;
  /** Stops the clock while a person is asked. */
  pause(): void;
  resume(): void;
  end(): void;
}

/** Calls `expire` if a call is silent for too long, or takes too long altogether. */
export function callClock({ silence_ms, total_ms }: { silence_ms: number; total_ms: number }, expire: () => void): CallClock {
  let left_ms = total_ms;
  let started_at = 0;
  let timer: NodeJS.Timeout | undefined;
  let pauses = 0;
  /** Ends the clock for good: neither progress nor an answer starts it again. */
  const end = () => {
    clearTimeout(timer);
    pauses = Number.POSITIVE_INFINITY;
  };
  const expireNow = () => {
    end();
    expire();
  };
  const start = () => {
    started_at = performance.now();
    timer = setTimeout(expireNow, Math.max(0, Math.min(silence_ms, left_ms)));
  };
  const stop = () => {
    clearTimeout(timer);
    left_ms -= performance.now() - started_at;
  };
  start();
  return {
    progress() {
      if (pauses > 0) return;
      stop();
      start();
    },
    pause() {
      if (pauses === 0) stop();
      pauses += 1;
    },
    resume() {
      pauses -= 1;
      if (pauses === 0) start();
    },
    end,
  };
}
