import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
    if (!read) runTests(folder);
    noteExecutions(folder);
    return report(await readCoverage(folder));
  } finally {
    if (!read && !keep) rmSync(folder, { recursive: true, force: true });
  }
}

function runTests(folder: string): void {
  openFolder(folder);
  const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);
  const env = { ...process.env, [COVERAGE_FOLDER]: folder, EVERY_CASE: '1' };
  const run = (program: string, ...rest: string[]) => spawnSync(bin(program), rest, { cwd: ROOT, env, stdio: 'inherit' });
  // Every build of this run writes the same bundle, also those that tests begin.
  run('vite', 'build', '--config', 'src/dashboard/vite.config.ts', '--logLevel', 'warn');
  keepBundle(folder);
  run(
    'vitest',
    'run',
    '--project=main',
    '--project=rest',
    '--reporter=dot',
    '--reporter=json',
    `--outputFile.json=${join(folder, RESULTS)}`,
    ...args,
  );
}

/** Notes how long each test file took and which statements it executed, for `npm run mutants -- --sql`. */
function noteExecutions(folder: string): void {
  const { testResults } = JSON.parse(readFileSync(join(folder, RESULTS), 'utf8')) as {
    testResults: { name: string; startTime: number; endTime: number }[];
  };
  writeExecutions(
    ROOT,
    folder,
    new Map(testResults.map(({ name, startTime, endTime }) => [relative(ROOT, name), (endTime - startTime) / 1_000])),
  );
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
