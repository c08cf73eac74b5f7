import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { readExecutions } from '../coverage/executions.ts';
import { allStatements } from '../support/database/statements.ts';
import { applyChange, listChanges } from './sql-changes.ts';
import { EQUIVALENT } from './sql-equivalents.ts';
import { type Candidate, formatOutcome, type Outcome, tryAll, type Verdict } from './sql-trial.ts';

export interface SqlEffort {
  /** Parts of names of statements and functions; none: all. */
  names: readonly string[];
  /** A random choice of so many. */
  sample?: number;
  seed: string;
  jobs: number;
  /** The seconds of tests that are run for each change, the quickest first. */
  seconds: number;
}

/** The share of changes that the tests must notice. */
const LEAST = 0.9;

const ROOT = join(import.meta.dirname, '../..');
const FUNCTIONS = join(ROOT, 'prisma/functions');

/** Changes statements, one condition, comparison or order at a time, and runs the tests that execute them. Whether enough was noticed. */
export async function scoreStatements(effort: SqlEffort): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'perdura-sql-'));
  try {
    const valid = await keepValid(await listCandidates(folder, effort), folder);
    const chosen = effort.sample ? pick(valid, effort.sample, effort.seed) : valid;
    console.log(`${chosen.length} of ${valid.length} changes`);
    return summarise(await tryAll(chosen, effort.jobs));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function listCandidates(folder: string, { names, seconds }: SqlEffort): Promise<Candidate[]> {
  const executions = readExecutions(ROOT);
  const statements = await allStatements();
  const isWanted = (name: string) => names.length === 0 || names.some((part) => name.includes(part));
  const inStatements = statements
    .filter(({ name }) => isWanted(name))
    .flatMap(({ file, exported, name, text }) =>
      listChanges(text).map((change): Candidate => {
        const changed = applyChange(text, change);
        const order = { changed_statement: { file: `src/store/${file}`, exported, text: changed } };
        return {
          name,
          change,
          order,
          check: `PREPARE changed AS ${changed}`,
          tests: executions.listTests([name], seconds, exported),
        };
      }),
    );
  const bodies = readdirSync(FUNCTIONS).map((file) => ({
    name: file.slice(0, -4),
    text: readFileSync(join(FUNCTIONS, file), 'utf8'),
  }));
  const inFunctions = bodies
    .filter(({ name }) => isWanted(name))
    .flatMap(({ name, text }) => {
      const callers = listCallers(name, [...statements, ...bodies]);
      return listChanges(text)
        .filter(({ at }) => at > text.indexOf('$$'))
        .map((change, index): Candidate => {
          const path = join(folder, `${name}-${index}.sql`);
          const changed = applyChange(text, change);
          writeFileSync(path, changed);
          return {
            name,
            change,
            order: { changed_functions: [path] },
            check: changed,
            tests: executions.listTests(callers, seconds, name),
          };
        });
    });
  return [...inStatements, ...inFunctions].filter(
    ({ name, change }) =>
      !EQUIVALENT.some((known) => known.name === name && known.was === change.was && known.becomes === change.becomes),
  );
}

/** The names of what calls a function, directly or through other functions. */
function listCallers(called: string, texts: readonly { name: string; text: string }[]): string[] {
  const callers = new Set<string>([called]);
  for (const name of callers)
    for (const { name: caller, text } of texts) if (new RegExp(`\\b${name}\\(`).test(text)) callers.add(caller);
  return [...callers];
}

async function keepValid(candidates: readonly Candidate[], folder: string): Promise<Candidate[]> {
  const postgres = await startPostgres({ home: folder, log: () => {}, port: 25_932 });
  try {
    await applyMigrations(postgres.url, MIGRATIONS);
    const client = new pg.Client(postgres.url);
    await client.connect();
    const valid: Candidate[] = [];
    for (const candidate of candidates) {
      await client.query('BEGIN');
      await client.query(candidate.check).then(
        () => valid.push(candidate),
        () => {},
      );
      await client.query('ROLLBACK');
      await client.query('DEALLOCATE ALL');
    }
    await client.end();
    return valid;
  } finally {
    await postgres.stop();
  }
}

/** Takes one change of each kind from each statement, then another one; by chance within each. */
function pick(candidates: readonly Candidate[], size: number, seed: string): Candidate[] {
  const ranked = candidates
    .map((candidate) => ({ candidate, rank: rankOf(candidate, seed) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ candidate }) => candidate);
  const strata = Map.groupBy(ranked, ({ name, change }) => `${name} ${change.kind}`);
  return [...strata.values()]
    .flatMap((some) => some.map((candidate, round) => ({ candidate, round })))
    .sort((a, b) => a.round - b.round || ranked.indexOf(a.candidate) - ranked.indexOf(b.candidate))
    .slice(0, size)
    .map(({ candidate }) => candidate);
}

const rankOf = ({ name, change }: Candidate, seed: string): string =>
  createHash('sha256').update(`${seed} ${name} ${change.at} ${change.becomes}`).digest('hex');

/** What has no verdict is not among what could be noticed. */
function summarise(outcomes: readonly Outcome[]): boolean {
  const those = (...verdicts: Verdict[]) => outcomes.filter(({ verdict }) => verdicts.includes(verdict));
  console.log('');
  for (const outcome of those('survived', 'not executed', 'broken')) console.log(formatOutcome(outcome));
  console.log('\n| kind | caught | of |\n|---|---|---|');
  for (const [kind, some] of Map.groupBy(those('caught', 'survived', 'not executed'), ({ candidate }) => candidate.change.kind))
    console.log(`| ${kind} | ${some.filter(({ verdict }) => verdict === 'caught').length} | ${some.length} |`);
  const caught = those('caught').length;
  const judged = outcomes.length - those('broken').length;
  const share = judged === 0 ? 1 : caught / judged;
  console.log(`\n${caught} of ${judged} changes of SQL noticed: ${(share * 100).toFixed(1)} %; ${those('broken').length} broken`);
  return share >= LEAST;
}
