import { type SpawnOptions, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Identifies a process: ids are reused, so the start time is part of it. */
export interface ProcessMark {
  pid: number;
  started: string;
}

export interface ProgramResult {
  code: number | null;
  output: string;
}

/** Runs a program to its end. A failure shows in its exit code; this throws only if it cannot be started. */
export function run(program: string, args: readonly string[], options: SpawnOptions = {}): Promise<ProgramResult> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.once('error', fail);
    // 'exit' may come before the last of the output.
    child.once('close', (code) => done({ code, output }));
  });
}

/** Returns the mark of a live process; undefined if it is gone or a zombie. */
export async function findMark(pid: number): Promise<ProcessMark | undefined> {
  if (!signal(pid, 0)) return undefined;
  return process.platform === 'linux' ? findLinuxMark(pid) : findPortableMark(pid);
}

async function findLinuxMark(pid: number): Promise<ProcessMark | undefined> {
  const [stat, boot] = await Promise.all([readOrEmpty(`/proc/${pid}/stat`), readBootId()]);
  // The name in the second field may contain blanks and brackets; the fields after its last bracket are regular.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  return !state || state === 'Z' || state === 'X' ? undefined : { pid, started: `${boot.trim()} ${fields[19]}` };
}

/** Cached, because it stays the same as long as this process runs, and servers are checked twice a second. */
let boot_id: Promise<string> | undefined;
const readBootId = (): Promise<string> => {
  boot_id ??= readOrEmpty('/proc/sys/kernel/random/boot_id');
  return boot_id;
};

async function findPortableMark(pid: number): Promise<ProcessMark | undefined> {
  const { code, output } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
  const [state = 'Z', ...started] = output.trim().split(/\s+/);
  return code !== 0 || state.startsWith('Z') ? undefined : { pid, started: started.join(' ') };
}

export async function isAlive(mark: ProcessMark): Promise<boolean> {
  return (await findMark(mark.pid))?.started === mark.started;
}

/** Returns the command line of a live process; empty if the process is gone or hidden. */
export async function findCommand(pid: number): Promise<string> {
  if (process.platform === 'linux') return (await readOrEmpty(`/proc/${pid}/cmdline`)).replaceAll('\0', ' ');
  return (await run('ps', ['-o', 'command=', '-p', String(pid)])).output.trim();
}

/** Asks a process to end, and kills it after the grace period. Resolves when it is gone. */
export async function endProcess(mark: ProcessMark, grace_ms: number): Promise<void> {
  for (const [name, wait_ms] of [['SIGTERM', grace_ms] as const, ['SIGKILL', 10_000] as const]) {
    if (!(await isAlive(mark))) return;
    signal(mark.pid, name);
    if (await isGone(mark, wait_ms)) return;
  }
  throw new Error(`Process ${mark.pid} could not be ended`);
}

export async function isGone(mark: ProcessMark, within_ms: number): Promise<boolean> {
  for (const end = performance.now() + within_ms; performance.now() < end; await sleep(25)) {
    if (!(await isAlive(mark))) return true;
  }
  return !(await isAlive(mark));
}

/** Sends a signal. Returns false if there is no such process; true also for another user's process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const readOrEmpty = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
