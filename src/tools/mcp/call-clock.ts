export interface CallClock {
  /** Restarts the limit on silence, because the server has reported progress, or wants to be asked again after so long. */
  progress(wait_ms?: number): void;
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
  const start = (wait_ms = 0) => {
    started_at = performance.now();
    timer = setTimeout(expireNow, Math.max(0, Math.min(wait_ms + silence_ms, left_ms)));
  };
  const stop = () => {
    clearTimeout(timer);
    left_ms -= performance.now() - started_at;
  };
  start();
  return {
    progress(wait_ms) {
      if (pauses > 0) return;
      stop();
      start(wait_ms);
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
