import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type ChildFrame, createFrameReader } from './frame.ts';
import { encodeJob, type Job } from './job.ts';
import { launchProcess } from './launch-process.ts';
import type { User, ZygoteSettings } from './settings.ts';

export interface Zygote {
  /** Runs a call. Returns null if the call's supervisor was lost; throws `ZygoteGone` if the call was never accepted. */
  call(job: Job, signal: AbortSignal): Promise<ChildFrame | null>;
  /** Resolves when no call is running. */
  idle(): Promise<void>;
  /** The socket file on which the zygote listens. */
  readonly socket: string;
  readonly alive: boolean;
  readonly pid: number;
  /** Ends the zygote and everything that it started. */
  stop(): Promise<void>;
}

export class ZygoteGone extends Error {}

export interface ZygoteHost {
  command: readonly string[];
  /** The user that the zygote runs as, if it is not the service's own. */
  run_as?: User | undefined;
  log(line: string): void;
}

const TAKEN = 0x2b;
const START_MS = 20_000;
const STOP_MS = 6_000;
/** A supervisor's time to accept the job and to clean up, in addition to the tool's time. */
const GRACE_MS = 10_000;

/** Starts a zygote. Throws the reason if the requested tier does not work on this machine. */
export async function startZygote(settings: ZygoteSettings, { command, run_as, log }: ZygoteHost): Promise<Zygote> {
  const [file = '', ...args] = command;
  // The zygote has its own process group: Ctrl-C in a terminal is for the service, which then ends its calls in order.
  const child = await launchProcess(file, args, { stdio: ['pipe', 'pipe', 'pipe'], env: {}, detached: true, ...run_as });
  const exit = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  child.stdin!.on('error', () => {});
  child.stdin!.write(`${JSON.stringify(settings)}\n`);
  createInterface({ input: child.stderr! }).on('line', (line) => log(`tool sandbox: ${line}`));
  try {
    await waitForReady(child, log);
  } catch (reason) {
    await stop(child, exit);
    throw reason;
  }
  return createZygote(child, exit, settings.socket);
}

/** Resolves when the first confined child has reported; later reports are logged. */
function waitForReady(child: ChildProcess, log: (line: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the tool sandbox did not start in time')), START_MS);
    const finishStart = (finish: () => void) => {
      clearTimeout(timer);
      finish();
    };
    child.once('error', (reason) => finishStart(() => reject(reason)));
    child.once('exit', (code) => finishStart(() => reject(new Error(`the tool sandbox ended at its start (exit code ${code})`))));
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const note = JSON.parse(line) as { ready?: unknown; failed?: string; log?: string };
      if (note.ready) finishStart(resolve);
      if (note.failed !== undefined) finishStart(() => reject(new Error(note.failed)));
      if (note.log) log(`tool sandbox: ${note.log}`);
    });
  });
}

function createZygote(child: ChildProcess, exit: Promise<void>, socket: string): Zygote {
  const calls = new Set<Promise<unknown>>();
  let alive = true;
  void exit.then(() => {
    alive = false;
  });
  return {
    call(job, signal) {
      const mine = exchange(socket, job, signal);
      const settled = mine.catch(() => {}).finally(() => calls.delete(settled));
      calls.add(settled);
      return mine;
    },
    async idle() {
      await Promise.all(calls);
    },
    socket,
    get alive() {
      return alive;
    },
    pid: child.pid!,
    stop: () => stop(child, exit),
  };
}

/** Stops a zygote by closing its stdin; kills it if it ignores that. */
async function stop(child: ChildProcess, exit: Promise<void>): Promise<void> {
  child.stdin?.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exit;
  clearTimeout(timer);
}

/** Sends a job on its own connection; closing the connection cancels the call. */
async function exchange(path: string, job: Job, signal: AbortSignal): Promise<ChildFrame | null> {
  const socket = await open(path);
  let called_off = false;
  const abort = () => {
    called_off = true;
    socket.destroy();
  };
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const timer = setTimeout(abort, job.header.timeout_ms + GRACE_MS);
  try {
    socket.write(encodeJob(job));
    const is_taken = await firstByte(socket);
    if (!is_taken && !called_off) throw new ZygoteGone('the tool sandbox did not take the call');
    return is_taken ? await readFrame(socket) : null;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}

/** Waits for one byte, with which a supervisor accepts a call; before that, the call has had no effect. */
function firstByte(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.once('close', () => resolve(false));
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      if (chunk.length > 1) socket.unshift(chunk.subarray(1));
      resolve(chunk[0] === TAKEN);
    });
  });
}

async function open(path: string): Promise<Socket> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (reason) {
    throw new ZygoteGone('the tool sandbox cannot be reached', { cause: reason });
  }
  return socket;
}

/** Reads a frame. Returns null if the connection broke or sent more than any supervisor would. */
export function readFrame(channel: Readable): Promise<ChildFrame | null> {
  return new Promise((resolve) => {
    const reader = createFrameReader();
    channel.on('error', () => {});
    channel.on('close', () => resolve(null));
    if (channel.destroyed) resolve(null);
    channel.on('data', (chunk: Buffer) => {
      const going = reader.add(chunk);
      const frame = reader.frame();
      if (frame) resolve(frame);
      else if (!going) channel.destroy();
    });
    channel.resume();
  });
}
