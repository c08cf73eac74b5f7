import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { readExecutions } from '../coverage/executions.ts';
import type { Order } from '../mutants/laboratory.ts';
import { openLaboratory } from '../mutants/trial.ts';
import { allStatements } from '../support/database/statements.ts';
import { applyChange, listChanges, type SqlChange } from './sql-changes.ts';
import { EQUIVALENT } from './sql-equivalents.ts';

/** A statement, or a function of `prisma/functions`, with one change. */
interface Candidate {
  name: string;
  change: SqlChange;
  /** What the tests run with. */
  order: Pick<Order, 'changed_statement' | 'changed_functions'>;
  /** What the database judges: a change that is no valid SQL is none. */
  check: string;
  tests: readonly string[];
}

type Verdict = 'caught' | 'survived' | 'not executed';

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
    const verdicts = await tryAll(chosen, effort.jobs);
    return summarise(verdicts);
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
        return { name, change, order, check: `PREPARE changed AS ${changed}`, tests: executions.listTests([name], seconds) };
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
            tests: executions.listTests(callers, seconds),
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

function pick(candidates: readonly Candidate[], size: number, seed: string): Candidate[] {
  const rank = ({ name, change }: Candidate) =>
    createHash('sha256').update(`${seed} ${name} ${change.at} ${change.becomes}`).digest('hex');
  return candidates
    .map((candidate) => ({ candidate, rank: rank(candidate) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, size)
    .map(({ candidate }) => candidate);
}

async function tryAll(candidates: readonly Candidate[], jobs: number): Promise<[Candidate, Verdict][]> {
  const queue = [...candidates];
  const verdicts: [Candidate, Verdict][] = [];
  const work = async () => {
    const laboratory = openLaboratory(ROOT, ['--bail']);
    for (let candidate = queue.shift(); candidate; candidate = queue.shift()) {
      const { name, change, order, tests } = candidate;
      const results =
        tests.length > 0
          ? await laboratory.run({ tests: tests.map((file) => ({ file, name: '' })), changed: [], ...order })
          : null;
      const failed = results?.flatMap((result) => result.tests).find(({ state }) => state === 'failed');
      const unloaded = results?.find(({ errors }) => errors.length > 0);
      // A run without any result has hung, which somebody would notice.
      const verdict = !results ? 'not executed' : failed || unloaded || results.length === 0 ? 'caught' : 'survived';
      verdicts.push([candidate, verdict]);
      const by = failed?.name ?? unloaded?.errors[0]?.split('\n')[0] ?? `${tests.length} files`;
      console.log(`${verdict.padEnd(12)}  ${name}  ${change.kind}: ${flatten(change.was)} → ${flatten(change.becomes)}  (${by})`);
    }
    await laboratory.close();
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return verdicts;
}

const flatten = (sql: string) => sql.replaceAll(/\s+/g, ' ');

function summarise(verdicts: readonly [Candidate, Verdict][]): boolean {
  const caught = verdicts.filter(([, verdict]) => verdict === 'caught').length;
  const share = verdicts.length === 0 ? 1 : caught / verdicts.length;
  console.log(`\n${caught} of ${verdicts.length} changes of SQL noticed: ${(share * 100).toFixed(1)} %`);
  return share >= LEAST;
}
