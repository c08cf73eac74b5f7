import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** Runs `npm test`: types, lint, then every test; the last line counts them. Arguments are passed to Vitest. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  /** The results by file. A file that does not load has no test to count. */
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[];
}

interface Outcome {
  passed: number;
  failed: number;
  /** The paths, from the root, of files in which something failed. */
  files: string[];
}

const ROOT = join(import.meta.dirname, '../../..');
const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);

function run(program: string, args: string[]): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit' });
  return new Promise((resolve, reject) => child.once('error', reject).once('exit', (code) => resolve(code ?? 1)));
}

async function vitest(args: string[]): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'perdura-report-'));
  const file = join(folder, 'report.json');
  const reporters = ['default', 'json', join(import.meta.dirname, 'retried.ts')].map((name) => `--reporter=${name}`);
  const code = await run(bin('vitest'), ['run', ...reporters, `--outputFile.json=${file}`, ...args]);
  const report = JSON.parse(await readFile(file, 'utf8').catch(() => '{"testResults":[]}')) as Report;
  await rm(folder, { recursive: true, force: true });
  const broken = report.testResults.filter(({ status }) => status === 'failed');
  const unloaded = broken.filter(({ assertionResults }) => assertionResults.length === 0).length;
  const failed = (report.numFailedTests ?? 0) + unloaded;
  return {
    passed: report.numPassedTests ?? 0,
    failed: code !== 0 && failed === 0 ? 1 : failed,
    files: broken.map(({ name }) => relative(ROOT, name)),
  };
}

/** The most files that are run again; more failures are not the effect of a busy machine. */
const MOST_AGAIN = 4;

/**
 * Runs the failed files again, by themselves, when everything else is done (in continuous integration): two attempts, one right
 * after the other, may meet the same busy moment. A file that passes only then is named, and is a fault to find.
 */
async function again({ passed, failed, files }: Outcome): Promise<Outcome> {
  if (!process.env.CI || files.length === 0 || files.length > MOST_AGAIN) return { passed, failed, files };
  console.log(`\nFailed, and run again alone: ${files.join(', ')}`);
  const second = await vitest(['--no-file-parallelism', ...files]);
  if (second.failed === 0) console.log(`\nPassed only in a separate run: ${files.join(', ')}`);
  return { passed: passed + failed - second.failed, failed: second.failed, files: second.files };
}

const args = process.argv.slice(2);
const whole = args.length === 0;
let failed = 0;
if (whole) {
  const checks = [
    ['tsc', '--noEmit', '-p', '.'],
    ['tsc', '--noEmit', '-p', 'src/dashboard'],
    ['biome', 'check', '--error-on-warnings', '.'],
    ['textlint', '-f', 'unix', '.'],
  ] as const;
  const codes = await Promise.all(checks.map(([program, ...rest]) => run(bin(program), rest)));
  const refused = checks.filter((_, index) => codes[index] !== 0);
  for (const check of refused) console.log(`\nFailed outside of a test: ${check.join(' ')}`);
  failed += refused.length;
}
const outcome = await again(await vitest(whole ? ['--project=main'] : args));
failed += outcome.failed;
console.log(`\n${outcome.passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
