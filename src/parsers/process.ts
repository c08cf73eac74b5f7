import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ParserFailure } from './failure.ts';

interface ProcessOrder {
  job: string;
  input: unknown;
  deadline_ms: number;
}

export interface ParserProcess {
  /** Runs one job at a time. If it rejects with anything but `refused`, the process has ended. */
  run(order: ProcessOrder): Promise<unknown>;
  /** Resolves when the process has ended. */
  end(): Promise<void>;
}

const HEAP_MB = 512;
/** The memory limit of a process: its heap, unpacked bytes and the program together. */
const RESIDENT_BYTES = 1024 * 1024 * 1024;
const LOOK_MS = 100;
const PAGE_BYTES = 4096;

const CHILD_FOLDER = fileURLToPath(new URL('./child/', import.meta.url));
const SOURCES = fileURLToPath(new URL('../../', import.meta.url));
/** The folder of the dependencies, which is further up if Perdura itself is installed as a package. */
const PACKAGES = createRequire(import.meta.url)
  .resolve.paths('any')!
  .filter((path) => existsSync(path));
const readable_paths = [CHILD_FOLDER, `${SOURCES}package.json`, ...PACKAGES.map((path) => `${realpathSync(path)}/`)];

/** The flags of the process. Older Node versions have no permissions, and strip types only with a flag. */
const FLAGS = [
  `--max-old-space-size=${HEAP_MB}`,
  '--disable-warning=ExperimentalWarning',
  ...process.execArgv.filter((flag) => flag === '--experimental-strip-types'),
  ...(process.allowedNodeEnvironmentFlags.has('--permission')
    ? ['--permission', ...readable_paths.map((path) => `--allow-fs-read=${path}`)]
    : []),
];

type Result = { value: unknown } | { refusal: string };
type Answer = 'ready' | Result;

/**
 * Starts a process for parsing. It has no environment, writes no file, starts nothing and reads only its own program. A thread
 * would not be enough: if it reaches its heap limit inside a call such as JSON.parse, the whole process ends.
 */
export function startProcess(): ParserProcess {
  const child = fork(`${CHILD_FOLDER}process${extname(import.meta.url)}`, {
    execArgv: FLAGS,
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()));
  let receive: (answer: Answer) => void = () => {};
  let fail: (reason: Error) => void = () => {};
  const ready = new Promise<void>((resolve, reject) => {
    receive = () => resolve();
    fail = reject;
  });
  ready.catch(() => {});
  child.on('message', (answer) => receive(answer as Answer));
  child.once('error', (error) => fail(error));
  child.once('exit', (code, signal) => fail(toExitError(code, signal)));
  // If memory runs short, the kernel ends this process first.
  if (process.platform === 'linux') writeFile(`/proc/${child.pid}/oom_score_adj`, '1000').catch(() => {});

  async function carryOut({ job, input, deadline_ms }: ProcessOrder): Promise<unknown> {
    await ready;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    fail = reject;
    // The process is ready only once.
    receive = (answer) => {
      const result = answer as Result;
      if ('refusal' in result) reject(new ParserFailure('refused', result.refusal));
      else resolve(result.value);
    };
    const expire = () => reject(new ParserFailure('timeout', `it takes longer than ${deadline_ms / 1_000} s`));
    const timer = setTimeout(expire, deadline_ms);
    const watch = setInterval(() => void isTooLarge(child).then((large) => large && reject(tooMuch())), LOOK_MS);
    try {
      child.send({ job, input });
      return await promise;
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
    }
  }

  async function end(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    child.kill('SIGKILL');
    await ended;
  }

  hold(child, false);
  return {
    end,
    async run(order) {
      hold(child, true);
      try {
        return await carryOut(order);
      } catch (error) {
        if (!(error instanceof ParserFailure && error.kind === 'refused')) await end();
        throw error;
      } finally {
        hold(child, false);
      }
    },
  };
}

/** Sets whether the parser process keeps this process alive. */
function hold(child: ChildProcess, stays_alive: boolean): void {
  if (stays_alive) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}

const tooMuch = () => new ParserFailure('memory', 'it needs more memory than allowed');

/** Explains the exit of a process. V8 ends a process whose heap is full with SIGABRT or SIGTRAP; nothing else does. */
const toExitError = (code: number | null, signal: string | null): Error =>
  signal === 'SIGABRT' || signal === 'SIGTRAP' || code === 134
    ? tooMuch()
    : new ParserFailure('ended', `its process ended (${signal ?? `exit code ${code}`})`);

/** True if the process uses too much memory. If the system does not report memory, only the heap limit applies. */
async function isTooLarge({ pid }: ChildProcess): Promise<boolean> {
  const statm = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '');
  return Number(statm.split(' ')[1]) * PAGE_BYTES > RESIDENT_BYTES;
}
