import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type Branch, type Coverage, keepBundle, readCoverage } from './branches.ts';
import { writeExecutions } from './executions.ts';
import { COVERAGE_FOLDER, openFolder } from './folder.ts';
import { UNCOVERED, type Uncovered } from './uncovered.ts';

const HELP = `Which branches of src does no test take? Runs the tests with every case, or those of the files named, and merges what every process
and every page of the dashboard executed. Ends with 1 if a branch is neither taken nor listed in test/coverage/uncovered.ts with a reason.

  npm run coverage
  npm run coverage -- test/api/keys.test.ts
  npm run coverage -- --keep FOLDER     keeps what was measured
  npm run coverage -- --read FOLDER     reads what was kept, without running tests
`;

/** What Vitest reports. */
const RESULTS = 'results';

const ROOT = join(import.meta.dirname, '../..');
const args = process.argv.slice(2);
const option = (name: string) => (args.includes(name) ? args.splice(args.indexOf(name), 2)[1] : undefined);

if (args.includes('--help')) console.log(HELP);
else process.exitCode = (await measure()) ? 0 : 1;

async function measure(): Promise<boolean> {
  const read = option('--read');
  const keep = option('--keep');
  const folder = read ?? keep ?? mkdtempSync(join(tmpdir(), 'perdura-coverage-'));
  try {
    if (!read && !buildDashboard(folder)) return refuse('the dashboard was not built. Its errors are above.');
    if (!read) runTests(folder);
    const files = readResults(folder);
    if (files.length === 0) return refuse(read ? `${read} contains no measurement.` : 'no test was run. The reason is above.');
    writeExecutions(ROOT, folder, new Map(files));
    return report(await readCoverage(folder));
  } finally {
    if (!read && !keep) rmSync(folder, { recursive: true, force: true });
  }
}

function refuse(reason: string): false {
  console.error(`Nothing was measured: ${reason}`);
  return false;
}

function run(folder: string, program: string, ...rest: string[]): boolean {
  const env = { ...process.env, [COVERAGE_FOLDER]: folder, EVERY_CASE: '1' };
  return spawnSync(join(ROOT, 'node_modules/.bin', program), rest, { cwd: ROOT, env, stdio: 'inherit' }).status === 0;
}

/** Builds the dashboard. Every later build of this run writes the same bundle, also those that tests begin. */
function buildDashboard(folder: string): boolean {
  openFolder(folder);
  const is_built = run(folder, 'vite', 'build', '--config', 'src/dashboard/vite.config.ts', '--logLevel', 'warn');
  if (is_built) keepBundle(folder);
  return is_built;
}

function runTests(folder: string): void {
  const output = `--outputFile.json=${join(folder, RESULTS)}`;
  run(folder, 'vitest', 'run', '--project=main', '--project=rest', '--reporter=dot', '--reporter=json', output, ...args);
}

/** Returns the test files that were run, and how many seconds each took. */
function readResults(folder: string): [file: string, seconds: number][] {
  const file = join(folder, RESULTS);
  if (!existsSync(file)) return [];
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as {
    testResults: { name: string; startTime: number; endTime: number }[];
  };
  return testResults.map(({ name, startTime, endTime }) => [relative(ROOT, name), (endTime - startTime) / 1_000]);
}

function report({ branches, unloaded }: Coverage): boolean {
  const missed = branches.filter(({ times }) => times === 0);
  const isMeant = (known: Uncovered, { file, text }: Branch) => known.file === file && text.includes(known.text);
  const unlisted = missed.filter((branch) => !UNCOVERED.some((known) => isMeant(known, branch)));
  const taken = UNCOVERED.filter((known) => !missed.some((branch) => isMeant(known, branch)));
  for (const { file, line, column, kind, path, text } of unlisted)
    console.log(`${file}:${line}:${column + 1}  ${kind} ${path}  ${text}`);
  console.log(`\n| folder | branches | taken | % |\n|---|---|---|---|`);
  for (const [room, some] of Map.groupBy(branches, ({ file }) => file.split('/').slice(0, 2).join('/')))
    console.log(formatRow(room, some));
  console.log(formatRow('all', branches));
  console.log(`${missed.length} not taken, ${missed.length - unlisted.length} of them for a reason`);
  for (const file of unloaded) console.log(`${file} was never loaded`);
  for (const { file, text } of taken) console.log(`Listed, but taken (by chance, if it is a race): ${file}  ${text}`);
  return unlisted.length === 0 && unloaded.length === 0;
}

function formatRow(name: string, branches: readonly Branch[]): string {
  const taken = branches.filter(({ times }) => times > 0).length;
  return `| ${name} | ${branches.length} | ${taken} | ${((taken / branches.length) * 100).toFixed(1)} |`;
}
