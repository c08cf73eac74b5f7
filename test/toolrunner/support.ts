import { readdirSync, readFileSync } from 'node:fs';
import {
  startToolRunner,
  type ToolAnswer,
  type ToolRun,
  type ToolRunner,
  type ToolRunnerOptions,
} from '../../src/toolrunner/index.ts';

/** The confinements to test on this machine, by the options that force them. */
export const TIERS: Record<string, ToolRunnerOptions> = {
  process: { isolation: 'none' },
};

export interface Bench {
  runner: ToolRunner;
  /** Runs a file whose function is named `tool`. */
  call(source: string, rest?: Partial<ToolRun>, signal?: AbortSignal): Promise<ToolAnswer>;
  /** The value under `result`, or the dict itself; throws when the tool failed. */
  value(source: string, rest?: Partial<ToolRun>): Promise<unknown>;
}

export async function openBench(options: ToolRunnerOptions): Promise<Bench> {
  const runner = await startToolRunner(options);
  const call: Bench['call'] = (source, rest = {}, signal = new AbortController().signal) =>
    runner.run({ name: 'tool', source, arguments: {}, env: {}, call_key: 'task:call', ...rest }, signal);
  return {
    runner,
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

export async function eventually(condition: () => boolean, patience_ms = 5_000): Promise<boolean> {
  for (const until = Date.now() + patience_ms; Date.now() < until; ) {
    if (condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return condition();
}
