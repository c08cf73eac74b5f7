import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What `npm test` does: types, lint, then every test; the last line counts them. Arguments go to Vitest. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  /** A file that does not load has no test to count. */
  testResults: { status: string; assertionResults: unknown[] }[];
}

const bin = (name: string) => join(import.meta.dirname, '../../node_modules/.bin', name);

function run(program: string, args: string[]): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit' });
  return new Promise((resolve, reject) => child.once('error', reject).once('exit', (code) => resolve(code ?? 1)));
}

const folder = await mkdtemp(join(tmpdir(), 'perdura-report-'));
const file = join(folder, 'report.json');
const args = process.argv.slice(2);
const whole = args.length === 0;
let failed = 0;
if (whole) {
  for (const [program, ...rest] of [
    ['tsc', '--noEmit', '-p', '.'],
    ['tsc', '--noEmit', '-p', 'src/dashboard'],
    ['biome', 'check', '--error-on-warnings', '.'],
    ['textlint', '-f', 'unix', '.'],
  ] as const) {
    if ((await run(bin(program), rest)) !== 0) failed += 1;
  }
}
const code = await run(bin('vitest'), [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--reporter=${join(import.meta.dirname, 'retried.ts')}`,
  `--outputFile.json=${file}`,
  ...args,
]);
const report = JSON.parse(await readFile(file, 'utf8').catch(() => '{"testResults":[]}')) as Report;
await rm(folder, { recursive: true, force: true });
const unloaded = report.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
).length;
failed += (report.numFailedTests ?? 0) + unloaded;
if (code !== 0 && failed === 0) failed = 1;
console.log(`\n${report.numPassedTests ?? 0} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
