import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result, Trial } from './statement-results.ts';

/** The results of statements on record, with one line for each row, so that the difference of two versions is one of rows. */
export const RESULTS_FILE = join(import.meta.dirname, '../../api/statement-results.list');

/**
 * Formats a result as lines: the statement with its values, `<` what was changed before, `=` each row of the answer or `!` the code of
 * the refusal, and `+`, `~` and `-` the rows that were added, changed and removed.
 */
export function formatResult({ statement, after, given, rows, changed }: Result): string {
  return [
    `${statement} ${JSON.stringify(given)}`,
    ...(after === undefined ? [] : [`< ${after}`]),
    ...(typeof rows === 'string' ? [`! ${rows}`] : rows.map((row) => `= ${JSON.stringify(row)}`)),
    ...changed,
  ].join('\n');
}

function parseResult(text: string): Result {
  const [title, ...lines] = text.split('\n');
  const listLines = (mark: string) => lines.filter((line) => line.startsWith(`${mark} `)).map((line) => line.slice(2));
  const [after] = listLines('<');
  const [refusal] = listLines('!');
  const at = title!.indexOf(' ');
  return {
    statement: title!.slice(0, at),
    ...(after === undefined ? {} : { after }),
    given: JSON.parse(title!.slice(at)) as Result['given'],
    rows: refusal ?? listLines('=').map((row) => JSON.parse(row) as unknown),
    changed: lines.filter((line) => /^[+~-] /.test(line)),
  };
}

export const readResults = (): Result[] => readFileSync(RESULTS_FILE, 'utf8').trim().split('\n\n').map(parseResult);

export const writeResults = (results: readonly Result[]): void =>
  writeFileSync(RESULTS_FILE, `${results.map(formatResult).join('\n\n')}\n`);

/** Says what to do about a result that has become another one, and what the rows hold that its values name. */
export function explainDifference({ statement, given }: Result, trial: Trial): string {
  const named = new Set(JSON.stringify(given).match(/@[a-z_]+-\d+/g));
  const rows = [...named].flatMap((id) =>
    trial
      .rows(id.slice(1, id.lastIndexOf('-')))
      .filter((row) => row.id === id)
      .map((row) => `  ${JSON.stringify(shorten(row))}`),
  );
  return [
    `${statement} answers or changes something else than what is on record.`,
    ...(rows.length > 0 ? ['These rows are among its values:', ...rows] : []),
    'If you changed it on purpose, write the results again with',
    '  RECORD_STATEMENTS=1 npx vitest run --project main test/api/statement-results.test.ts',
    'and commit them when each row that differs is meant to',
  ].join('\n');
}

/** Without what says nothing. */
const shorten = (row: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => !['null', '[]', '{}', '""'].includes(JSON.stringify(value))));
