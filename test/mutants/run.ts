import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { areaOf, catalogue } from './catalogue.ts';
import type { Mutant } from './mutant.ts';
import { atBench, type Outcome, type Verdict } from './trial.ts';

const HELP = `Plants each fault of test/mutants in a worktree and runs the tests that must fail.

  npm run mutants                        all of them
  npm run mutants -- --only egress       those whose id begins so; may be given several times
  npm run mutants -- --changed [--base main]   those in files that differ from another commit
  npm run mutants -- --list              what there is, without running anything

  --jobs 2          two at a time, in two worktrees
  --skip-baseline   when the tests have just passed without any fault
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    changed: { type: 'boolean', default: false },
    base: { type: 'string', default: 'main' },
    jobs: { type: 'string', default: '1' },
    'skip-baseline': { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const selected = values.help ? [] : await selection();
if (values.help) console.log(HELP);
else if (values.list) for (const { id, harm } of selected) console.log(`${id}  ${harm}`);
else if (selected.length === 0) console.log('No mutant is selected.');
else process.exitCode = (await runAll(selected)) ? 0 : 1;

async function selection(): Promise<Mutant[]> {
  const changed = values.changed ? changedFiles(values.base) : null;
  const named = ({ id }: Mutant) => values.only.length === 0 || values.only.some((start) => id.startsWith(start));
  return (await catalogue()).filter((mutant) => named(mutant) && (!changed || changed.includes(mutant.file)));
}

function changedFiles(base: string): string[] {
  return execFileSync('git', ['diff', '--name-only', '--relative', base], { encoding: 'utf8' }).trim().split('\n');
}

/** Whether every fault was caught. */
async function runAll(mutants: readonly Mutant[]): Promise<boolean> {
  const queue = [...mutants];
  const verdicts: [Mutant, Outcome][] = [];
  process.once('SIGINT', () => queue.splice(0));
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
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
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
