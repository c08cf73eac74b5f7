import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { watchRoom } from '../folders/room.ts';
import { killGroup } from '../toolrunner/kill-group.ts';
import { launchProcess } from '../toolrunner/launch-process.ts';
import { watchSize } from './size-watch.ts';

interface GitLimits {
  /** The directory that must not grow beyond `max_bytes` while git runs. */
  directory: string;
  timeout_ms: number;
  max_bytes: number;
  signal: AbortSignal;
}

/**
 * Runs git and returns the result of `read` on its output. Throws a sentence if git fails, takes too long or writes too much, or
 * if `read` throws the reason why it is ended; with the system's `code` if this machine lacks room.
 */
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
  const child = await launchProcess('git', args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let stopped = '';
  const stop = (reason: string) => {
    stopped ||= reason;
    killGroup(child);
  };
  const timer = setTimeout(() => stop(`it took longer than ${timeout_ms / 1000} s`), timeout_ms);
  const watching = watchSize(directory, { bytes: max_bytes }, stop);
  const room = watchRoom(directory);
  const abort = () => stop('it was stopped');
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const output = read(child.stdout!).catch((error: Error) => {
    stop(error.message);
    return undefined as T;
  });
  try {
    const [out, err, [code]] = await Promise.all([output, text(child.stderr!), once(child, 'close')]);
    signal.throwIfAborted();
    if (stopped) throw new Error(`The repository could not be checked out: ${stopped}`);
    if (code === 0) return out;
    throw toFailure(err, await room.end());
  } finally {
    clearTimeout(timer);
    await room.end();
    watching.abort();
    signal.removeEventListener('abort', abort);
  }
}

/** Maps the C libraries' messages to system errors: git reports the cause of a failed system call in no other way. */
const LACKS: [RegExp, string][] = [
  [/(?:No space left on device|Out of diskspace)\)?$/, 'ENOSPC'],
  [/(?:Dis[ck] quota|: Quota) exceeded\)?$/, 'EDQUOT'],
  [/Too many open files(?: in system)?\)?$/, 'EMFILE'],
  [/Cannot allocate memory\)?$/, 'ENOMEM'],
  [/Resource temporarily unavailable\)?$/, 'EAGAIN'],
];

/** Matches lines in which the server reports about its own machine. */
const FOREIGN = /^(?:remote:|fatal: remote error)/;

function toFailure(output: string, was_full: boolean): Error {
  const lines = output
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => !FOREIGN.test(line));
  const lack = LACKS.find(([words]) => lines.some((line) => words.test(line)));
  const code = was_full ? 'ENOSPC' : lack?.[1];
  const error = new Error(`The repository could not be checked out: ${findLastLine(output)}`);
  return code ? Object.assign(error, { code, syscall: 'spawn' }) : error;
}

const findLastLine = (output: string) =>
  output
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^fatal: /, '') || 'git failed';
