import { join } from 'node:path';
import { readExecutions } from '../coverage/executions.ts';
import type { FileResult, Order } from '../mutants/laboratory.ts';
import { type Laboratory, NO_ASSERTION, openLaboratory } from '../mutants/trial.ts';
import type { SqlChange } from './sql-changes.ts';

/** A statement, or a function of `prisma/functions`, with one change. */
export interface Candidate {
  name: string;
  change: SqlChange;
  /** What the tests run with. */
  order: Pick<Order, 'changed_statement' | 'changed_functions'>;
  /** The statement or the function with the change. */
  text: string;
  is_function: boolean;
  /** The statements that execute it. */
  callers: readonly string[];
  /** What a test that is about it has in its text. */
  word: string;
}

export type Verdict = 'caught' | 'survived' | 'not executed' | 'broken';

export interface Outcome {
  candidate: Candidate;
  verdict: Verdict;
  /** The test that failed, or why there is no verdict. */
  detail: string;
}

const ROOT = join(import.meta.dirname, '../..');

/** Beyond it nothing is waited for. */
const LONGEST_MS = 4 * 60_000;

/** Runs the tests of each change, the file first that has caught another change of the same statement. */
export async function tryAll(
  candidates: readonly Candidate[],
  { jobs, seconds }: { jobs: number; seconds: number },
): Promise<Outcome[]> {
  const executions = readExecutions(ROOT);
  const queue = [...candidates];
  const outcomes: Outcome[] = [];
  const catching = new Map<string, string>();
  const passing = new Map<string, Promise<Set<string>>>();
  const work = async () => {
    const laboratory = openLaboratory(ROOT, { quick: true, longest_ms: LONGEST_MS });
    for (let candidate = queue.shift(); candidate; candidate = queue.shift()) {
      const began = Date.now();
      const first = catching.get(candidate.name);
      const tests = executions.listTests(candidate.callers, seconds, candidate.word);
      const { file, ...judged } = await judge({ ...candidate, tests }, laboratory, passing, first);
      if (file) catching.set(candidate.name, file);
      const outcome = { candidate, ...judged };
      outcomes.push(outcome);
      console.log(`${formatOutcome(outcome)}  ${((Date.now() - began) / 1_000).toFixed(1)} s`);
    }
    await laboratory.close();
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return outcomes;
}

export const formatOutcome = ({ candidate: { name, change }, verdict, detail }: Outcome) =>
  `${verdict.padEnd(12)}  ${name}  ${change.kind}: ${flatten(change.was)} → ${flatten(change.becomes)}  (${detail})`;

const flatten = (sql: string) => sql.replaceAll(/\s+/g, ' ');

interface Judged {
  verdict: Verdict;
  detail: string;
  /** The file that caught it. */
  file?: string;
}

/**
 * A failure counts if the file passes without the change. What does not count (a file that does not load, an installation that
 * does not start, a hang) gives none either, unless another file fails by an assertion.
 */
async function judge(
  { tests, order }: Candidate & { tests: readonly string[] },
  laboratory: Laboratory,
  passing: Map<string, Promise<Set<string>>>,
  first: string | undefined,
): Promise<Judged> {
  if (tests.length === 0) return { verdict: 'not executed', detail: 'no test file executes it' };
  let rest = [...tests].sort((a, b) => Number(b === first) - Number(a === first));
  let broken: string | null = null;
  while (rest.length > 0) {
    const results = await laboratory.run({ tests: all(rest), changed: [], ...order });
    if (results.length === 0) return { verdict: 'broken', detail: 'the tests do not end' };
    broken ??= findBroken(results);
    const { file, name } = findFailed(results) ?? {};
    if (!file || !name) break;
    if (!passing.has(file)) passing.set(file, listPassing(laboratory, file));
    if ((await passing.get(file)!).has(name)) return { verdict: 'caught', detail: `${file} › ${name}`, file };
    // It fails without the change, too.
    rest = rest.filter((other) => other !== file);
  }
  if (broken) return { verdict: 'broken', detail: broken };
  return rest.length > 0
    ? { verdict: 'survived', detail: rest.join(' ') }
    : { verdict: 'broken', detail: 'no test ran that passes without the change' };
}

const all = (files: readonly string[]) => files.map((file) => ({ file, name: '' }));

function findFailed(results: readonly FileResult[]): { file: string; name: string } | null {
  for (const { file, tests } of results)
    for (const { name, state, error } of tests) if (state === 'failed' && !NO_ASSERTION.test(error ?? '')) return { file, name };
  return null;
}

function findBroken(results: readonly FileResult[]): string | null {
  const result = results.find(({ errors }) => errors.length > 0);
  return result ? `${result.file}: ${result.errors[0]?.split('\n')[0]}` : null;
}

/** The tests of a file that pass without any change, in a new process: others prove nothing when they fail. */
async function listPassing(laboratory: Laboratory, file: string): Promise<Set<string>> {
  const results = await laboratory.run({ tests: all([file]), changed: [], afresh: true });
  return new Set(results.flatMap(({ tests }) => tests.filter(({ state }) => state === 'passed').map(({ name }) => name)));
}
