import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { repeated } from '../mutation/repeat.ts';
import { filesOf, type RoomName, roomNames } from '../mutation/rooms.ts';
import { scoreStatements } from '../mutation/sql.ts';
import { scoreRooms } from '../mutation/stryker.ts';
import { areaOf, catalogue, sampleOf } from './catalogue.ts';
import type { Mutant } from './mutant.ts';
import { atBench, type Outcome, type Verdict } from './trial.ts';

const HELP = `Do the tests fail when the code breaks? Without arguments, for what differs from main: plants its faults, changes every
expression of its rooms, and repeats its test files under load.

  npm run mutants -- --base HEAD~3          what differs from another commit
  npm run mutants -- --all                  every planted fault and every room
  npm run mutants -- --only secrets         planted faults whose id begins so; may be given several times
  npm run mutants -- --sample 60 --seed 7   a random sample of all planted faults; also with --list
  npm run mutants -- --list                 every planted fault and its harm
  npm run mutants -- --rooms [domain]       every file of all rooms, or of those named (${roomNames.join(', ')}); also a file
  npm run mutants -- --sql [claim]          every condition, comparison and order of the statements and functions so named, or of all
  npm run mutants -- --sql --sample 200     a random sample of them
  npm run mutants -- --repeat 20 test/x.test.ts   test files, again and again next to a busy loop

  --jobs 2          that many at a time
  --seconds 60      of tests for each change of a statement that no recorded result shows, the quickest first; 0: none
  --record          adds results of statements to those on record that show more changes
  --constants       also changes tables, schemas and what else runs while a module loads; slow
  --skip-baseline   when the tests have just passed without any planted fault
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true, default: [] },
    all: { type: 'boolean', default: false },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    base: { type: 'string', default: 'main' },
    rooms: { type: 'boolean', default: false },
    sql: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    record: { type: 'boolean', default: false },
    repeat: { type: 'string' },
    jobs: { type: 'string' },
    constants: { type: 'boolean', default: false },
    'skip-baseline': { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const jobs = (usual: number) => Number(values.jobs ?? usual);
const effort = { jobs: jobs(2), constants: values.constants };

/** Attempts of a test file that differs. */
const TIMES = 20;

if (values.help) console.log(HELP);
else if (values.list) for (const { id, harm } of await sampled()) console.log(`${id}  ${harm}`);
else process.exitCode = (await proven()) ? 0 : 1;

async function proven(): Promise<boolean> {
  if (values.repeat) return repeated(positionals, Number(values.repeat));
  if (values.sql)
    return scoreStatements({
      names: positionals,
      ...(values.sample && { sample: Number(values.sample) }),
      seed: values.seed,
      jobs: jobs(2),
      seconds: Number(values.seconds),
      records: values.record,
    });
  if (values.rooms) return scoreRooms(isInRooms(positionals), effort);
  if (values.sample) return runAll(await sampled());
  if (values.only.length > 0) return allCaught(({ id }) => values.only.some((start) => id.startsWith(start)));
  const changed = values.all ? null : changedFiles(values.base);
  const tests = (changed ?? []).filter((file) => file.endsWith('.test.ts'));
  const parts = [
    await allCaught(({ file }) => !changed || changed.includes(file)),
    await scoreRooms((file) => !changed || changed.includes(file), effort),
    tests.length === 0 || (await repeated(tests, TIMES)),
  ];
  return parts.every(Boolean);
}

async function sampled(): Promise<Mutant[]> {
  const all = await catalogue();
  return values.sample ? sampleOf(all, Number(values.sample), values.seed) : all;
}

function isInRooms(named: readonly string[]): (file: string) => boolean {
  const files = named.flatMap((name) => (roomNames.includes(name as RoomName) ? filesOf(name as RoomName) : [name]));
  return (file) => files.length === 0 || files.includes(file);
}

/** Those that still exist. */
function changedFiles(base: string): string[] {
  return execFileSync('git', ['diff', '--name-only', '--relative', '--diff-filter=d', base], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

async function allCaught(wanted: (mutant: Mutant) => boolean): Promise<boolean> {
  const mutants = (await catalogue()).filter(wanted);
  if (mutants.length === 0) console.log('No planted fault is selected.');
  return mutants.length === 0 || runAll(mutants);
}

/** Whether every fault was caught. */
async function runAll(mutants: readonly Mutant[]): Promise<boolean> {
  const queue = [...mutants];
  const verdicts: [Mutant, Outcome][] = [];
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => queue.splice(0));
  const failing = values['skip-baseline'] ? new Set<string>() : await baseline(mutants);
  const work = async () => {
    await atBench(async (bench) => {
      for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
        const outcome = await bench.tried(mutant, failing);
        verdicts.push([mutant, outcome]);
        console.log(`${outcome.verdict.padEnd(15)}  ${mutant.id.padEnd(44)}  ${outcome.detail}`);
      }
    });
  };
  await Promise.all(Array.from({ length: jobs(1) }, work));
  summarise(verdicts);
  return verdicts.length === mutants.length && verdicts.every(([, { verdict }]) => verdict === 'caught');
}

async function baseline(mutants: readonly Mutant[]): Promise<Set<string>> {
  console.log('Running the named tests without any fault …');
  const tests = mutants.flatMap((mutant) => mutant.tests);
  const failing = await atBench((bench) => bench.failingAlready(tests));
  for (const name of failing) console.log(`fails already    ${name}`);
  return failing;
}

function summarise(verdicts: readonly [Mutant, Outcome][]): void {
  const count = (some: readonly [Mutant, Outcome][], wanted: Verdict) =>
    some.filter(([, { verdict }]) => verdict === wanted).length;
  console.log('\n| area | caught | of |\n|---|---|---|');
  for (const [area, some] of Map.groupBy(verdicts, ([mutant]) => areaOf(mutant)))
    console.log(`| ${area} | ${count(some, 'caught')} | ${some.length} |`);
  for (const wanted of ['caught', 'survived', 'does not apply', 'broken'] as const)
    console.log(`${count(verdicts, wanted)} ${wanted}`);
}
