/** A terminal and npm may both forward the same Ctrl-C; a second one this soon counts as the same. */
const ECHO_MS = 1_000;

/** Resolves when the process is asked to end, or when the script that started it has ended. A second request ends it at once. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let first_signal_at = 0;
    const stop = () => {
      if (first_signal_at > 0 && performance.now() - first_signal_at > ECHO_MS) process.exit(130);
      first_signal_at ||= performance.now();
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    process.once('disconnect', stop);
    // Listening for the script's death must not keep this process alive.
    process.channel?.unref();
  });
}
