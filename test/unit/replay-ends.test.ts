import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { RunBundle } from '../../src/contracts/run-bundles.ts';
import { createJudge } from '../../src/guardrails/judge.ts';
import { createOutputGuards } from '../../src/main/wiring/guardrails.ts';
import { replay } from '../../src/replay/replay.ts';
import { BUDGET_HALT } from '../../src/temporal/names.ts';
import { testParsers } from '../support/contract/parsers.ts';

const FOLDER = resolve(import.meta.dirname, '../temporal/bundles');
const parsers = testParsers();
// A replay compares what guardrails decide, not how long a busy machine takes.
const PATIENT_MS = 300_000;
const judge = createJudge(parsers.parsers, { deadline_ms: PATIENT_MS, patience_ms: PATIENT_MS });
afterAll(() => parsers.close());

type End = RunBundle['end'];

/** The difference that a replay finds if the run is recorded with another end. */
async function differenceOf(name: string, change: (end: End) => Partial<End>) {
  const bundle = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as RunBundle;
  Object.assign(bundle.end, change(bundle.end));
  return (await replay(bundle, createOutputGuards(judge))).difference;
}

const CHANGES: Record<string, (end: End) => Partial<End>> = {
  'another status': ({ status }) => ({ status: status === 'failed' ? 'completed' : 'failed' }),
  'another error': ({ error }) => ({ error: `${error}, perhaps` }),
  'another code of the error': () => ({ error_code: 'model_rate_limited' }),
  'other turns': ({ turns }) => ({ turns: turns + 1 }),
  'another answer to whether the limit of turns was reached': ({ turn_limit_reached }) => ({
    turn_limit_reached: !turn_limit_reached,
  }),
};
/** What a run that reached its end by itself has on record of it; a run that failed has no figures that the loop decides. */
const DECIDED: Record<string, readonly string[]> = {
  completed: ['another status', 'other turns', 'another answer to whether the limit of turns was reached'],
  failed: ['another status', 'another error', 'another code of the error'],
};

/** Each run of the folder that ended by itself, with each change that its replay must notice. */
const CASES = readdirSync(FOLDER).flatMap((name) => {
  const { end, steps } = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as RunBundle;
  // A model that gave no answer is not on record: nothing can be compared with its failure.
  if (steps.at(-1)?.ended_at === null && end.error_code !== BUDGET_HALT) return [];
  const kind = end.error_code === null ? end.status : 'failed';
  return (DECIDED[kind] ?? []).map((change) => [name, change] as const);
});

describe('a replay notices that a run ended in another way than it does now', () => {
  it('for runs that completed, failed and used up their budget', () => {
    const names = new Set(CASES.map(([name]) => name));
    expect([...names]).toEqual(expect.arrayContaining(['tools.json', 'withheld.json', 'exhausted.json']));
    expect(CASES.length).toBeGreaterThan(24);
  });

  it.each(CASES)('%s with %s', async (name, change) => {
    expect(await differenceOf(name, () => ({}))).toBeNull();
    expect(await differenceOf(name, CHANGES[change]!)).toMatchObject({ what: 'how the run ends' });
  });
});
