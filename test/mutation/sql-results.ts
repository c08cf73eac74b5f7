import { readResults, writeResults } from '../support/database/results-file.ts';
import { openTrial, type Query, type Result, type Trial } from '../support/database/statement-results.ts';
import { proposeValues, type Row } from './sql-cases.ts';
import type { Candidate } from './sql-trial.ts';

/** The test that compares the recorded results with those of the statements as they are. */
export const TEST = 'test/api/statement-results.test.ts';

/** The number of proposals for a statement. */
const PROPOSALS = 300;

export interface Judge {
  /** The statement whose recorded result a change makes another one: then the test fails. */
  find(candidate: Candidate): Promise<string | null>;
  /** Adds a result that a change makes another one to those on record, if one of the proposals does. */
  record(candidate: Candidate): Promise<boolean>;
  close(): Promise<void>;
}

/** Tries changed statements on the rows of the test, without Vitest: that takes milliseconds. */
export async function openJudge(url: string): Promise<Judge> {
  const trial = await openTrial(url);
  const results = Map.groupBy(readResults(), ({ statement }) => statement);
  // What differs without any change proves nothing.
  for (const [name, some] of results) {
    const query = trial.queries.find((of) => of.name === name);
    const same = [];
    for (const result of some) if (query && isSame(await trial.try(query, result), result)) same.push(result);
    if (same.length < some.length) console.log(`fails already    ${name}`);
    results.set(name, same);
  }
  const proposals = proposer(trial);
  return {
    async find(candidate) {
      const shown = await findDifference(trial, candidate, ({ name }) => results.get(name) ?? []);
      return shown?.statement ?? null;
    },
    async record(candidate) {
      const shown = await findDifference(trial, candidate, await proposals.of(listQueries(trial, candidate)));
      if (shown) results.set(shown.statement, [...(results.get(shown.statement) ?? []), shown]);
      return shown !== null;
    },
    async close() {
      const order = trial.queries.flatMap(({ name }) => results.get(name) ?? []);
      if (proposals.areMade()) writeResults(order);
      await trial.close();
    },
  };
}

const listQueries = (trial: Trial, { callers }: Candidate): Query[] => trial.queries.filter(({ name }) => callers.includes(name));

const isSame = (one: Result, other: Result): boolean =>
  JSON.stringify([one.rows, one.changed]) === JSON.stringify([other.rows, other.changed]);

async function findDifference(
  trial: Trial,
  candidate: Candidate,
  resultsOf: (query: Query) => readonly Result[],
): Promise<Result | null> {
  const { client } = trial;
  const { name, text, is_function } = candidate;
  await client.query('SAVEPOINT changed');
  try {
    if (is_function) await client.query(text);
    for (const query of listQueries(trial, candidate)) {
      const tried = query.name === name ? { ...query, text } : query;
      for (const result of resultsOf(query)) if (!isSame(await trial.try(tried, result), result)) return result;
    }
    return null;
  } finally {
    await client.query('ROLLBACK TO SAVEPOINT changed; RELEASE SAVEPOINT changed');
  }
}

/** Proposes results of the statements as they are, the shortest first; none that chance has a part in. */
function proposer(trial: Trial) {
  const rows = new Map<string, Row[]>();
  const proposed = new Map<string, Result[]>();
  return {
    areMade: () => proposed.size > 0,
    async of(queries: readonly Query[]): Promise<(query: Query) => readonly Result[]> {
      for (const query of queries) if (!proposed.has(query.name)) proposed.set(query.name, await propose(trial, rows, query));
      return ({ name }) => proposed.get(name)!;
    },
  };
}

async function propose(trial: Trial, rows: Map<string, Row[]>, query: Query): Promise<Result[]> {
  const given = new Map<string, Row>();
  for (let n = 0; n < PROPOSALS; n += 1) {
    const values = proposeValues(trial, rows, query, n);
    given.set(JSON.stringify(values), values);
  }
  const found: Result[] = [];
  for (const values of given.values()) {
    const result = await trial.try(query, { given: values });
    // Few refusals are enough: most are of values that do not fit.
    const refused = typeof result.rows === 'string' && found.filter(({ rows }) => typeof rows === 'string').length > 3;
    if (!refused && isSame(result, await trial.try(query, { given: values }))) found.push(result);
  }
  return found.sort((a, b) => JSON.stringify(a).length - JSON.stringify(b).length);
}
