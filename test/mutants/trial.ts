import { execFileSync, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** Works in a copy of the repository as it is committed, with the changes to files that git knows. */
export async function inWorktree<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const parent = await mkdtemp(join(tmpdir(), 'perdura-mutants-'));
  const directory = join(parent, 'repository');
  const git = (...args: string[]) => execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' }).trim();
  git('worktree', 'add', '--quiet', '--detach', directory, git('stash', 'create') || 'HEAD');
  try {
    await cp(join(ROOT, GENERATED), join(directory, GENERATED), { recursive: true });
    await linkModules(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    return await work(directory);
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

/** Plants a fault, runs its tests and takes it out again. */
export async function tried(mutant: Mutant, directory: string, failing: ReadonlySet<string>): Promise<Outcome> {
  const path = join(directory, mutant.file);
  const source = await readFile(path, 'utf8').catch(() => '');
  const changed = planted(source, mutant);
  if (changed === null) return { verdict: 'does not apply', detail: `its text does not occur exactly once in ${mutant.file}` };
  await writeFile(path, changed);
  try {
    return judged(await runTests(mutant.tests, directory, ['--maxWorkers=1']), failing);
  } finally {
    await writeFile(path, source);
  }
}

/** The tests that fail without any fault: they prove nothing. */
export async function failingAlready(tests: readonly MutantTest[], directory: string): Promise<Set<string>> {
  const results = (await runTests(tests, directory)) ?? [];
  return new Set(results.flatMap(({ assertionResults }) => assertionResults.filter(isFailed).map(({ fullName }) => fullName)));
}

interface FileResult {
  name: string;
  status: string;
  message: string;
  assertionResults: { fullName: string; status: string; failureMessages: string[] | null }[];
}

const isFailed = ({ status }: { status: string }) => status === 'failed';
/** Such a fault is found by the compiler, or by the first who starts the service. */
const NO_ASSERTION = /^(?:SyntaxError|ReferenceError|Error: Transform failed)/;

function judged(results: FileResult[] | null, failing: ReadonlySet<string>): Outcome {
  if (!results) return { verdict: 'broken', detail: 'Vitest did not report; does it start?' };
  const all = results.flatMap(({ assertionResults }) => assertionResults);
  const failed = all.filter((test) => isFailed(test) && !failing.has(test.fullName));
  const caught = failed.find(({ failureMessages }) => !NO_ASSERTION.test(failureMessages?.[0] ?? ''));
  if (caught) return { verdict: 'caught', detail: caught.fullName };
  const unloaded = results.find((file) => isFailed(file) && !file.assertionResults.some(isFailed));
  if (unloaded) return { verdict: 'broken', detail: `${unloaded.name}: ${unloaded.message.split('\n')[0]}` };
  if (failed[0]) return { verdict: 'broken', detail: failed[0].failureMessages?.[0]?.split('\n')[0] ?? 'no reason' };
  const passed = all.filter(({ status }) => status === 'passed');
  if (passed.length === 0) return { verdict: 'broken', detail: 'no test ran that passes without the fault' };
  return { verdict: 'survived', detail: `${passed.length} tests passed` };
}

/** Null when there is no report. */
async function runTests(tests: readonly MutantTest[], directory: string, more: string[] = []): Promise<FileResult[] | null> {
  const report = join(directory, '..', 'report.json');
  await rm(report, { force: true });
  const names = [...new Set(tests.map(({ name }) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')))].join('|');
  const files = [...new Set(tests.map(({ file }) => file))];
  const reporters = ['--reporter=json', `--outputFile.json=${report}`];
  const args = ['run', '--project', 'main', '--retry=0', ...more, ...reporters, '-t', names, ...files];
  await ended(join(directory, 'node_modules/.bin/vitest'), args, directory);
  const text = await readFile(report, 'utf8').catch(() => '');
  return text ? (JSON.parse(text) as { testResults: FileResult[] }).testResults : null;
}

function ended(program: string, args: string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: 'ignore', timeout: LONGEST_MS });
  return new Promise((resolve, reject) => child.once('error', reject).once('exit', () => resolve()));
}
