import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { FRAME_LIMIT, type Frame, parseFrame } from './frame.ts';
import type { Job } from './job.ts';

/** How long the supervisor has, beyond the tool's own time, to start and to clean up. */
const GRACE_MS = 10_000;

/**
 * One fresh interpreter per call, without confinement. The process started here only supervises; ending its
 * stdin tells it to end the tool and everything the tool started. Null when it was lost.
 */
export async function runInProcess(
  command: readonly string[],
  job: Job,
  options: { scratch: string; signal: AbortSignal },
): Promise<Frame | null> {
  const cwd = await mkdtemp(join(options.scratch, 'call-'));
  try {
    return await supervised(command, { ...job, env: { ...job.env, HOME: cwd, TMPDIR: cwd } }, { cwd, signal: options.signal });
  } finally {
    await rm(cwd, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function supervised(
  command: readonly string[],
  job: Job,
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): Promise<Frame | null> {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'ignore', 'pipe'], env: {}, detached: true, cwd });
  const stdin = child.stdin as unknown as Writable;
  // A supervisor that dies early breaks this pipe; the missing frame tells the same.
  stdin.on('error', () => {});
  stdin.write(`${JSON.stringify(job)}\n`);
  const abort = () => stdin.destroy();
  signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => killGroup(child), job.timeout_ms + GRACE_MS);
  const exit = once(child, 'exit').catch(() => {});
  try {
    const line = await readFrame(child.stdio[3] as Readable);
    stdin.destroy();
    await exit;
    return parseFrame(line);
  } finally {
    signal.removeEventListener('abort', abort);
    clearTimeout(timer);
    killGroup(child);
  }
}

async function readFrame(channel: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of channel as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > FRAME_LIMIT) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Only what has not been collected yet: a number may belong to someone else afterwards. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
