import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { allStatements } from '../support/database/statements.ts';
import { applyChange, listChanges } from './sql-changes.ts';
import { EQUIVALENT } from './sql-equivalents.ts';
import type { Candidate } from './sql-trial.ts';

const FUNCTIONS = join(import.meta.dirname, '../../prisma/functions');

/** Lists every change of the statements and functions whose names have one of the words, or of all. */
export async function listCandidates(folder: string, words: readonly string[]): Promise<Candidate[]> {
  const isWanted = ({ name }: { name: string }) => words.length === 0 || words.some((word) => name.includes(word));
  const statements = await allStatements();
  const inStatements = statements.filter(isWanted).flatMap(({ file, exported, name, text }) =>
    listChanges(text).map((change): Candidate => {
      const changed = applyChange(text, change);
      const order = { changed_statement: { file: `src/store/${file}`, exported, text: changed } };
      return { name, change, order, text: changed, is_function: false, callers: [name], word: exported };
    }),
  );
  const bodies = readdirSync(FUNCTIONS).map((file) => ({
    name: file.slice(0, -4),
    text: readFileSync(join(FUNCTIONS, file), 'utf8'),
  }));
  const inFunctions = bodies.filter(isWanted).flatMap(({ name, text }) => {
    const callers = listCallers(name, [...statements, ...bodies]);
    return listChanges(text)
      .filter(({ at }) => at > text.indexOf('$$'))
      .map((change, index): Candidate => {
        const path = join(folder, `${name}-${index}.sql`);
        const changed = applyChange(text, change);
        writeFileSync(path, changed);
        return { name, change, order: { changed_functions: [path] }, text: changed, is_function: true, callers, word: name };
      });
  });
  return [...inStatements, ...inFunctions].filter((candidate) => !isEquivalent(candidate));
}

const isEquivalent = ({ name, change, text }: Candidate): boolean => {
  const { at, was, becomes } = change;
  const original = text.slice(0, at) + was + text.slice(at + becomes.length);
  /** Whether the change lies within one of the places where the statement has this text. */
  const isWithin = (part: string) =>
    [...Array(part.length).keys()].some((before) => original.startsWith(part, at - before) && before + was.length <= part.length);
  return EQUIVALENT.some(
    ({ names, within, ...of }) =>
      (names === 'all' || names.includes(name)) &&
      was === of.was &&
      becomes === of.becomes &&
      (within === undefined || isWithin(within)),
  );
};

/** Statements that fire a function which nothing calls. */
const TRIGGERED: Record<string, readonly string[]> = {
  keep_partial_response: ['settle_task'],
  keep_audit: ['remove_audit'],
  usage_of_deleted: ['remove_tasks'],
  usage_before_deletion: ['remove_workflow'],
  drop_secret_grants: ['remove_workflow'],
};

/** The names of what calls a function, directly or through other functions. */
function listCallers(called: string, texts: readonly { name: string; text: string }[]): string[] {
  const callers = new Set<string>([called, ...(TRIGGERED[called] ?? [])]);
  for (const name of callers)
    for (const { name: caller, text } of texts) if (new RegExp(`\\b${name}\\(`).test(text)) callers.add(caller);
  return [...callers];
}

/** Keeps what the database accepts: a change that is no valid SQL is none. */
export async function keepValid(candidates: readonly Candidate[], url: string): Promise<Candidate[]> {
  const client = new pg.Client(url);
  await client.connect();
  const valid: Candidate[] = [];
  for (const candidate of candidates) {
    await client.query('BEGIN');
    await client.query(candidate.is_function ? candidate.text : `PREPARE changed AS ${candidate.text}`).then(
      () => valid.push(candidate),
      () => {},
    );
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
  await client.end();
  return valid;
}

/** Takes one change of each kind from each statement, then another one; by chance within each. */
export function pick(candidates: readonly Candidate[], size: number, seed: string): Candidate[] {
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
