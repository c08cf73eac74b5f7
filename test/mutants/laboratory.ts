import { join } from 'node:path';
import { createVitest, type TestModule } from 'vitest/node';
import type { ChangedStatement } from '../support/database/database.ts';
import { keepWorkers } from './kept-worker.ts';
import type { MutantTest } from './mutant.ts';

/** Runs tests of the worktree it was started in, again and again, with servers that are started once. Asked and answered by messages. */
export interface Order {
  tests: readonly MutantTest[];
  /** Files that are not as they were at the last order. */
  changed: readonly string[];
  /** A statement with another text, for this order only. */
  changed_statement?: ChangedStatement;
  /** Files of database functions to use in place of those that the database has. */
  changed_functions?: readonly string[];
  /** Ends the processes that earlier orders ran in. */
  afresh?: boolean;
}

export interface FileResult {
  file: string;
  /** Why the file did not load, if so. */
  errors: string[];
  tests: { name: string; state: 'passed' | 'failed' | 'skipped' | 'pending'; error: string | null }[];
}

/** Ends an order with its first failure, which is enough for who only asks whether there is one, and keeps its processes. */
const quick = process.argv.includes('--quick');
const workers = keepWorkers();
const vitest = await createVitest('test', {
  project: ['main', 'rest', 'accidents'],
  watch: false,
  retry: 0,
  maxWorkers: 1,
  ...(quick && { bail: 1, testTimeout: 30_000, pool: workers.pool }),
  reporters: [{}],
});
await vitest.standalone();
// Its servers are ended; a test may leave something behind that would keep the process.
process.once('disconnect', () => Promise.all([vitest.close(), workers.end()]).finally(() => process.exit()));
process.on('message', (order: Order) => {
  const { tests, changed, changed_statement, changed_functions = changed.filter(isFunction), afresh } = order;
  for (const file of changed) vitest.invalidateFile(join(process.cwd(), file));
  vitest.provide('changed_functions', [...changed_functions]);
  vitest.provide('changed_statement', changed_statement ?? null);
  (afresh ? workers.end() : Promise.resolve())
    .then(() => run(tests))
    .then(
      (results) => process.send?.(results),
      (error: Error) => process.send?.([{ file: 'vitest', errors: [error.message], tests: [] } satisfies FileResult]),
    );
});

const isFunction = (file: string) => file.startsWith('prisma/functions/');

const escaped = (name: string) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

async function run(tests: readonly MutantTest[]): Promise<FileResult[]> {
  vitest.setGlobalTestNamePattern(new RegExp([...new Set(tests.map(({ name }) => escaped(name)))].join('|')));
  const specifications = await vitest.globTestSpecifications([...new Set(tests.map(({ file }) => file))]);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  // Without a process to run in, the results are those of an earlier order.
  const lost = (unhandledErrors as Error[]).find(({ message }) => /worker|spawn/i.test(message));
  if (lost) throw lost;
  // Those of earlier orders are among them.
  const asked = new Set(specifications.map(({ moduleId }) => moduleId));
  return testModules.filter(({ moduleId }) => asked.has(moduleId)).map(resultOf);
}

const resultOf = (module: TestModule): FileResult => ({
  file: module.relativeModuleId,
  errors: module.errors().map(({ message }) => message),
  tests: [...module.children.allTests()].map((test) => {
    const { state, errors } = test.result();
    return { name: test.fullName, state, error: errors?.[0] ? `${errors[0].name}: ${errors[0].message}` : null };
  }),
});
