import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { killGroup } from '../toolrunner/kill-group.ts';
import { watchSize } from './size-watch.ts';

interface GitLimits {
  /** The directory that must not grow beyond `max_bytes` while git runs. */
  directory: string;
  timeout_ms: number;
  max_bytes: number;
  signal: AbortSignal;
}

/** Thrown by a reader of git's output to end git, with the reason. */
export class TooMuch extends Error {}

/** Runs git and returns what `read` makes of its output. Throws a sentence if git fails, takes too long or writes too much. */
export async function git<T = string>(
  args: string[],
  {
    env,
    limits,
    read = text as never,
  }: { env: Record<string, string>; limits: GitLimits; read?: (output: Readable) => Promise<T> },
): Promise<T> {
  const { directory, timeout_ms, max_bytes, signal } = limits;
  signal.throwIfAborted();
  const child = spawn('git', args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let stopped = '';
  const stop = (reason: string) => {
    stopped ||= reason;
    killGroup(child);
  };
  const timer = setTimeout(() => stop(`it took longer than ${timeout_ms / 1000} s`), timeout_ms);
  const watching = watchSize(directory, max_bytes, stop);
  const abort = () => stop('it was stopped');
  signal.addEventListener('abort', abort, { once: true });
  const output = read(child.stdout).catch((error: Error) => {
    if (!(error instanceof TooMuch)) throw error;
    stop(error.message);
    return undefined as T;
  });
  try {
    const failed = once(child, 'error').then(([error]) => Promise.reject(error));
    const ended = Promise.all([output, text(child.stderr), once(child, 'close')]);
    const [out, err, [code]] = await Promise.race([ended, failed]);
    signal.throwIfAborted();
    if (stopped) throw new Error(`The repository could not be checked out: ${stopped}`);
    if (code !== 0) throw new Error(`The repository could not be checked out: ${lastLineOf(err)}`);
    return out;
  } finally {
    clearTimeout(timer);
    watching.abort();
    signal.removeEventListener('abort', abort);
  }
}

const lastLineOf = (output: string) =>
  output
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^fatal: /, '') || 'git failed';
