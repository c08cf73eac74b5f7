import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failedAnswer, toAnswer } from './answer.ts';
import { startInspector } from './inspection.ts';
import { findInterpreter } from './interpreter.ts';
import { toJob } from './job.ts';
import { runInProcess } from './process-tier.ts';
import type { ToolRun, ToolRunner } from './runner.ts';

export type * from './runner.ts';

export interface ToolRunnerOptions {
  /** The tools' interpreter; their packages are its packages. Default `python3`. */
  python?: string;
  /** Wall clock of one call. Default 30 s. */
  timeout_ms?: number;
  /** `auto` and `strict` refuse to run tools where they cannot be confined; `none` runs them unconfined. */
  isolation?: 'auto' | 'strict' | 'none';
  /** Packages imported once, before any call. */
  preload?: string[];
  /** Where the runner keeps its sockets and private directories; default the system's temporary directory. */
  scratch_dir?: string;
  log?: (line: string) => void;
}

const MAIN = fileURLToPath(new URL('./python/main.py', import.meta.url));
const TIMEOUT_MS = 30_000;
const CLOSED = 'the tool runner was closed';

/** Throws when there is no usable interpreter. */
export async function startToolRunner(options: ToolRunnerOptions = {}): Promise<ToolRunner> {
  const { executable } = await findInterpreter(options.python ?? 'python3');
  const timeout_ms = options.timeout_ms ?? TIMEOUT_MS;
  const scratch = await mkdtemp(join(options.scratch_dir ?? tmpdir(), 'perdura-tools-'));
  const inspector = startInspector([executable, '-I', '-S', '-X', 'utf8', MAIN, 'inspect', scratch]);
  const running = new Set<Promise<unknown>>();
  const closing = new AbortController();

  async function run(call: ToolRun, signal: AbortSignal) {
    signal.throwIfAborted();
    if (closing.signal.aborted) throw new Error(CLOSED);
    const began = performance.now();
    const either = AbortSignal.any([signal, closing.signal]);
    const frame = await runInProcess([executable, '-I', '-X', 'utf8', MAIN, 'one-shot', scratch], toJob(call, timeout_ms), {
      scratch,
      signal: either,
    });
    signal.throwIfAborted();
    if (!frame) return failedAnswer(closing.signal.aborted ? CLOSED : 'the tool process was lost', performance.now() - began);
    return toAnswer({ ...frame, duration_ms: Math.round(performance.now() - began) }, call.env);
  }

  return {
    isolation: 'process',
    inspect: (name, source) => inspector.inspect(name, source),
    run(call, signal) {
      const mine = run(call, signal);
      const settled = mine.catch(() => {}).finally(() => running.delete(settled));
      running.add(settled);
      return mine;
    },
    async close() {
      closing.abort();
      await Promise.all([...running, inspector.close()]);
      await rm(scratch, { recursive: true, force: true });
    },
  };
}
