import type { LogEntry } from '@temporalio/worker';
import { quietSdk } from '../../src/temporal/worker/worker.ts';

const readers = new Set<(entry: LogEntry) => void>();

// A process can do so once, and runs many test files.
quietSdk('WARN', {
  write(entry) {
    for (const read of readers) read(entry);
    if (entry.level === 'ERROR') console.error(entry.message, entry.meta ?? '');
  },
});

/** Hands warnings and errors of the engine's SDK to a function, until the function that it returns is called. */
export function readSdkLog(read: (entry: LogEntry) => void): () => void {
  readers.add(read);
  return () => readers.delete(read);
}
