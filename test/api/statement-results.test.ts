import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';
import { explainDifference, formatResult, readResults, writeResults } from '../support/database/results-file.ts';
import { openTrial, type Result, type Trial } from '../support/database/statement-results.ts';

const byStatement = Map.groupBy(readResults(), ({ statement }) => statement);

let database: TestDatabase;
let trial: Trial;
const found: Result[] = [];

beforeAll(async () => {
  database = await testDatabase();
  trial = await openTrial(database.url);
});
afterAll(async () => {
  if (process.env.RECORD_STATEMENTS) writeResults(found);
  await trial?.close();
  await database?.drop();
});

it.each([...byStatement])('%s answers and changes what it did when somebody last looked', async (name, results) => {
  const query = trial.queries.find((of) => of.name === name)!;
  for (const result of results) {
    const now = await trial.try(query, result);
    found.push(now);
    if (!process.env.RECORD_STATEMENTS)
      expect.soft(formatResult(now), explainDifference(result, trial)).toBe(formatResult(result));
  }
});

it('each result names a value for every parameter of its statement', () => {
  const named = [...byStatement].flatMap(([name, results]) =>
    results.map(({ given }) => ({ name, parameters: Object.keys(given).toSorted() })),
  );
  const parametersOf = (name: string) => trial.queries.find((of) => of.name === name)?.parameters.toSorted();
  expect(named).toEqual(named.map(({ name }) => ({ name, parameters: parametersOf(name) })));
});

it('there is a result for each statement whose answer follows from rows', () => {
  const missing = trial.queries.map(({ name }) => name).filter((name) => !byStatement.has(name));
  expect(missing.filter((name) => !OF_THE_SERVER.includes(name))).toEqual([]);
});

/** What they answer is up to the server or chance. */
const OF_THE_SERVER = [
  ...['begin_first_epoch', 'read_log_place', 'working_backends', 'restricted_role', 'has_vector', 'search_passages_extended'],
  ...['stored_bytes_of', 'find_call_definition', 'database_bytes', 'largest_tables', 'add_knowledge_chunks'],
  'make_grant_key',
];
