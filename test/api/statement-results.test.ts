import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';
import { openTrial, type Result, type Trial } from '../support/database/statement-results.ts';

/** One result in each line: what a statement answers for some values, and which rows it changes. */
const FILE = join(import.meta.dirname, 'statement-results.jsonl');
const recorded = readFileSync(FILE, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Result);
const byStatement = Map.groupBy(recorded, ({ statement }) => statement);

let database: TestDatabase;
let trial: Trial;
const found: Result[] = [];

beforeAll(async () => {
  database = await testDatabase();
  trial = await openTrial(database.url);
});
afterAll(async () => {
  if (process.env.RECORD_STATEMENTS) writeFileSync(FILE, `${found.map((result) => JSON.stringify(result)).join('\n')}\n`);
  await trial?.close();
  await database?.drop();
});

it.each([...byStatement])('%s answers and changes what it did when somebody last looked', async (name, results) => {
  const query = trial.queries.find((of) => of.name === name)!;
  const now: Result[] = [];
  for (const { given } of results) now.push(await trial.try(query, given));
  found.push(...now);
  expect(process.env.RECORD_STATEMENTS ? results : now).toEqual(results);
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
