import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { vi } from 'vitest';
import { startToolRunner, type ToolAnswer, type ToolRun, type ToolRunnerOptions } from '../../src/toolrunner/index.ts';
import { findInterpreter, type Interpreter } from '../../src/toolrunner/interpreter.ts';
import type { PythonToolRunner } from '../../src/toolrunner/python-tool-runner.ts';
import { SYSTEM_PYTHON } from '../support/machine/system-python.ts';

// The machine that runs the tests may be busy; no test here measures time.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

export const IS_ROOT = process.getuid?.() === 0;
/** One for each worker of Vitest: the kernel counts processes by user, so the fork bombs of one file would starve another's tools. */
const ORDINARY_ID = 61_900 + Number(process.env.VITEST_POOL_ID ?? 0);
const ORDINARY_USER = { uid: ORDINARY_ID, gid: ORDINARY_ID };

/** What the kernel offers, asked of the kernel and not of the code under test. */
export const CAN_UNSHARE = works('unshare', IS_ROOT ? ['-pmnf', 'true'] : ['-Urpmnf', 'true']);
const HAS_LANDLOCK = works(SYSTEM_PYTHON, [
  '-c',
  'import ctypes; assert ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) >= 3',
]);

/** The confinements to test on this machine, by the options that force them; the first word is the tier. */
export const CONFINED: Record<string, ToolRunnerOptions> = {
  ...(CAN_UNSHARE && { namespaces: { tier: 'namespaces' } }),
  ...(HAS_LANDLOCK && { landlock: { tier: 'landlock', python: SYSTEM_PYTHON } }),
  ...(CAN_UNSHARE &&
    IS_ROOT && { 'namespaces of an ordinary user': { tier: 'namespaces', python: SYSTEM_PYTHON, run_as: ORDINARY_USER } }),
  ...(HAS_LANDLOCK &&
    IS_ROOT && { 'landlock of an ordinary user': { tier: 'landlock', python: SYSTEM_PYTHON, run_as: ORDINARY_USER } }),
};
const UNSCOPED = CONFINED['landlock of an ordinary user'] ?? (IS_ROOT ? undefined : CONFINED.landlock);
/** With Landlock as in Linux 6.2 to 6.11, where it confines no signals. */
export const OLD_LANDLOCK: Record<string, ToolRunnerOptions> = Object.fromEntries(
  UNSCOPED ? [3, 4, 5].map((level) => [`landlock ${level} of an ordinary user`, { ...UNSCOPED, landlock_level: level }]) : [],
);
/** Without the variants for an ordinary user, which differ in rights to files and processes and not in the rest. */
export const MAIN_TIERS = Object.fromEntries(Object.entries(CONFINED).filter(([name]) => !name.includes(' ')));
export const TIERS: Record<string, ToolRunnerOptions> = { process: { isolation: 'none' }, ...CONFINED };
/** The tier that `npm test` tries where all behave alike, and the others, which the files `…-in-other-tiers` try. */
export const QUICK_TIER = Object.fromEntries(Object.entries(CONFINED).slice(0, 1));
export const OTHER_TIERS = Object.fromEntries(Object.entries(CONFINED).slice(1));

if (!CAN_UNSHARE) console.warn('This kernel gives no namespaces here: the tier "namespaces" is NOT tested.');
if (!HAS_LANDLOCK) console.warn('This kernel has no Landlock 3: the tier "landlock" is NOT tested.');

function works(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export interface Bench {
  interpreter: Interpreter;
  runner: PythonToolRunner;
  /** Runs a file whose function is named `tool`. */
  call(source: string, rest?: Partial<ToolRun>, signal?: AbortSignal): Promise<ToolAnswer>;
  /** The value under `result`, or the dict itself; throws when the tool failed. */
  value(source: string, rest?: Partial<ToolRun>): Promise<unknown>;
}

export async function openBench(options: ToolRunnerOptions): Promise<Bench> {
  const runner = await startToolRunner(options);
  const interpreter = await findInterpreter(options.python ?? 'python3');
  const call: Bench['call'] = (source, rest = {}, signal = new AbortController().signal) =>
    runner.run({ name: 'tool', source, arguments: {}, env: {}, call_key: 'task:call', ...rest }, signal);
  return {
    runner,
    interpreter,
    call,
    async value(source, rest) {
      const answer = await call(source, rest);
      if (answer.error !== null) throw new Error(`${answer.error}\n${answer.stderr}`);
      const parsed = JSON.parse(answer.result) as Record<string, unknown>;
      return Object.keys(parsed).join() === 'result' ? parsed.result : parsed;
    },
  };
}

/** Command lines of every process on the machine that hold `text`. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(commandLine)
    .filter((line) => line.includes(text));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

export async function eventually(condition: () => boolean, patience_ms = 15_000): Promise<boolean> {
  for (const until = Date.now() + patience_ms; Date.now() < until; ) {
    if (condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return condition();
}
