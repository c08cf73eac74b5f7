import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { removeFolder } from '../folders/remove.ts';
import type { ChildFrame } from './frame.ts';
import { encodeJob, type Job } from './job.ts';
import { killGroup } from './kill-group.ts';
import { launchProcess } from './launch-process.ts';
import { readFrame } from './zygote.ts';

/** The supervisor's time to start and to clean up, in addition to the tool's own time. */
const GRACE_MS = 10_000;

/**
 * Runs a call in a fresh interpreter, without confinement. The process started here only supervises; closing its stdin makes it
 * end the tool and everything the tool started. Returns null if the supervisor was lost.
 */
export async function runInProcess(
  command: readonly string[],
  job: Job,
  options: { scratch: string; signal: AbortSignal },
): Promise<ChildFrame | null> {
  const cwd = await mkdtemp(join(options.scratch, 'call-'));
  try {
    return await superviseCall(command, { ...job, env: { ...job.env, HOME: cwd, TMPDIR: cwd } }, { cwd, signal: options.signal });
  } finally {
    // The call has its result; the runner removes any remaining files when it ends.
    await removeFolder(cwd).catch(() => {});
  }
}

async function superviseCall(
  command: readonly string[],
  job: Job,
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): Promise<ChildFrame | null> {
  const [file = '', ...args] = command;
  const child = await launchProcess(file, args, { stdio: ['pipe', 'ignore', 'ignore', 'pipe'], env: {}, detached: true, cwd });
  const stdin = child.stdin as Writable;
  // A supervisor that dies early breaks this pipe; the missing frame reports the same.
  stdin.on('error', () => {});
  stdin.write(encodeJob(job));
  const abort = () => stdin.destroy();
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const timer = setTimeout(() => killGroup(child), job.header.timeout_ms + GRACE_MS);
  const exit = once(child, 'exit').catch(() => {});
  try {
    const frame = await readFrame(child.stdio[3] as Readable);
    stdin.destroy();
    await exit;
    return frame;
  } finally {
    signal.removeEventListener('abort', abort);
    clearTimeout(timer);
    killGroup(child);
  }
}
