import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileResult, Order } from './laboratory.ts';
import { type Mutant, type MutantTest, planted } from './mutant.ts';

const ROOT = join(import.meta.dirname, '../..');
const GENERATED = 'src/generated';
const LONGEST_MS = 8 * 60_000;

export type Verdict = 'caught' | 'survived' | 'does not apply' | 'broken';

export interface Outcome {
  verdict: Verdict;
  /** The test that failed, or why there is no verdict. */
  detail: string;
}

export interface Bench {
  /** Plants a fault, runs its tests and takes it out again. */
  tried(mutant: Mutant, failing: ReadonlySet<string>): Promise<Outcome>;
  /** The tests that fail without any fault: they prove nothing. */
  failingAlready(tests: readonly MutantTest[]): Promise<Set<string>>;
}

/** A copy of the repository as it is committed, with the changes to files that git knows, and a process that runs its tests. */
export async function atBench<T>(work: (bench: Bench) => Promise<T>): Promise<T> {
  const parent = await mkdtemp(join(tmpdir(), 'perdura-mutants-'));
  const directory = join(parent, 'repository');
  const git = (...args: string[]) => execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' }).trim();
  git('worktree', 'add', '--quiet', '--detach', directory, git('stash', 'create') || 'HEAD');
  try {
    await cp(join(ROOT, GENERATED), join(directory, GENERATED), { recursive: true });
    await linkModules(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    const laboratory = openLaboratory(directory);
    try {
      return await work(benchOf(directory, laboratory));
    } finally {
      await laboratory.close();
    }
  } finally {
    git('worktree', 'remove', '--force', directory);
    await rm(parent, { recursive: true, force: true });
  }
}

/** Hard links: a symbolic one would lead the sandbox and the bundler out of the worktree. Another disk has no choice. */
async function linkModules(from: string, to: string): Promise<void> {
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'ignore' });
  } catch {
    await rm(to, { recursive: true, force: true });
    await symlink(from, to);
  }
}

export interface Laboratory {
  run(order: Order): Promise<FileResult[]>;
  close(): Promise<void>;
}

/** A process that is replaced when it dies or hangs; then there are no results. */
export function openLaboratory(directory: string, { quick = false, longest_ms = LONGEST_MS } = {}): Laboratory {
  const start = () =>
    fork(join(directory, 'test/mutants/laboratory.ts'), quick ? ['--quick'] : [], {
      cwd: directory,
      env: { ...process.env, ...(!quick && { EVERY_CASE: '1' }) },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
  let child = start();
  return {
    async run(order) {
      if (!child.connected) child = start();
      const ended = new AbortController();
      const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(longest_ms)]);
      const abort = () => ended.abort();
      child.once('exit', abort);
      try {
        const answer = once(child, 'message', { signal });
        child.send(order);
        return (await answer)[0] as FileResult[];
      } catch {
        if (child.connected) child.disconnect();
        return [];
      } finally {
        child.off('exit', abort);
      }
    },
    async close() {
      if (!child.connected) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

function benchOf(directory: string, { run }: Laboratory): Bench {
  /** Its text is back, but what was made of it is still the fault's. */
  let restored: string[] = [];
  return {
    async tried(mutant, failing) {
      const { file, tests } = mutant;
      const path = join(directory, file);
      const source = await readFile(path, 'utf8').catch(() => '');
      const changed = planted(source, mutant);
      if (changed === null)
        return { verdict: 'does not apply', detail: `its text does not occur exactly once in ${mutant.symbol ?? file}` };
      await writeFile(path, changed);
      try {
        return judged(await run({ tests, changed: [...restored, file] }), failing);
      } finally {
        await writeFile(path, source);
        restored = [file];
      }
    },
    async failingAlready(tests) {
      const failing = new Set<string>();
      for (const [file, some] of Map.groupBy(tests, (test) => test.file)) {
        const results = await run({ tests: some, changed: [] });
        if (results.length === 0) throw new Error(`${file} does not end in ${LONGEST_MS / 60_000} minutes without any fault`);
        for (const { name } of results.flatMap((result) => result.tests.filter(isFailed))) failing.add(name);
      }
      return failing;
    },
  };
}

const isFailed = ({ state }: { state: string }) => state === 'failed';
/** Such a fault is found by the compiler, or by the first who starts the service. */
export const NO_ASSERTION = /^(?:SyntaxError|ReferenceError|RolldownError|Error: Transform failed)/;

function judged(results: readonly FileResult[], failing: ReadonlySet<string>): Outcome {
  const all = results.flatMap(({ tests }) => tests);
  const failed = all.filter((test) => isFailed(test) && !failing.has(test.name));
  const caught = failed.find(({ error }) => !NO_ASSERTION.test(error ?? ''));
  if (caught) return { verdict: 'caught', detail: caught.name };
  const unloaded = results.find(({ errors }) => errors.length > 0);
  if (unloaded) return { verdict: 'broken', detail: `${unloaded.file}: ${unloaded.errors[0]?.split('\n')[0]}` };
  if (failed[0]) return { verdict: 'broken', detail: failed[0].error?.split('\n')[0] ?? 'no reason' };
  const passed = all.filter(({ state }) => state === 'passed');
  if (passed.length === 0) return { verdict: 'broken', detail: 'no test ran that passes without the fault' };
  return { verdict: 'survived', detail: `${passed.length} tests passed` };
}
