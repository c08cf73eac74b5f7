import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { keepValid, listCandidates, pick } from './sql-candidates.ts';
import { openJudge, TEST } from './sql-results.ts';
import { type Candidate, formatOutcome, type Outcome, tryAll, type Verdict } from './sql-trial.ts';

export interface SqlEffort {
  /** Parts of names of statements and functions; none: all. */
  names: readonly string[];
  /** A random choice of so many. */
  sample?: number;
  seed: string;
  jobs: number;
  /** The seconds of tests that are run for each change that no recorded result shows. */
  seconds: number;
  /** Adds results to those on record that show more changes. */
  records: boolean;
}

/** The share of changes that the tests must notice. */
const LEAST = 0.9;

/**
 * Changes statements and functions, one condition, comparison or order at a time. First the recorded results are compared, then the
 * other tests that execute the statement run. Whether enough was noticed.
 */
export async function scoreStatements(effort: SqlEffort): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'perdura-sql-'));
  const postgres = await startPostgres({ home: folder, log: () => {}, port: 25_932 });
  try {
    await applyMigrations(postgres.url, MIGRATIONS);
    const valid = await keepValid(await listCandidates(folder, effort.names), postgres.url);
    const chosen = effort.sample ? pick(valid, effort.sample, effort.seed) : valid;
    console.log(`${chosen.length} of ${valid.length} changes`);
    const { shown, rest } = await compareResults(chosen, postgres.url, effort.records);
    console.log(`${shown.length} make a result of ${TEST} another one`);
    for (const { name, change } of rest)
      console.log(`${name}  ${change.kind} at ${change.at}: ${change.was} → ${change.becomes}`);
    if (effort.seconds === 0 || effort.records)
      return summarise([...shown, ...rest.map((candidate): Outcome => ({ candidate, verdict: 'survived', detail: TEST }))]);
    return summarise([...shown, ...(await tryAll(rest, effort))]);
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compareResults(candidates: readonly Candidate[], url: string, records: boolean) {
  const judge = await openJudge(url);
  const shown: Outcome[] = [];
  const rest: Candidate[] = [];
  try {
    for (const candidate of candidates) {
      let statement = await judge.find(candidate);
      if (!statement && records && (await judge.record(candidate))) statement = candidate.name;
      if (statement) shown.push({ candidate, verdict: 'caught', detail: `${TEST} › ${statement}` });
      else rest.push(candidate);
    }
  } finally {
    await judge.close();
  }
  return { shown, rest };
}

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
