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

/** Changes of a recorded run that its replay takes, or notices at a step. */
const OTHERS: [string, string, (bundle: RunBundle) => void, { step: number; what: string } | null][] = [
  [
    'continues after what is now its last step',
    'tools.json',
    ({ steps }) => void steps.push({ ...steps.at(-1)!, step: 5 }),
    { step: 4, what: 'whether the run continues' },
  ],
  [
    'was halted within a call',
    'tools.json',
    (bundle) => {
      bundle.steps[2]!.tool_calls[0]!.result = null;
      bundle.end.status = 'halted';
    },
    null,
  ],
  [
    'has a call under another id',
    'tools.json',
    ({ steps }) => {
      steps[2]!.tool_calls[0]!.call_id = 'changed by hand';
    },
    { step: 3, what: 'the call 3-1' },
  ],
  [
    'completed without the result of a call',
    'tools.json',
    ({ steps }) => {
      steps[2]!.tool_calls[0]!.result = null;
    },
    { step: 3, what: 'whether the run continues' },
  ],
  [
    'has a summary without its frame',
    'compacted.json',
    ({ transcript }) => {
      transcript.find(({ kind }) => kind === 'summary')!.content = 'All that was said.';
    },
    { step: 5, what: 'the summary of older messages' },
  ],
  [
    'used the default model, which has no prices',
    'memories.json',
    ({ definition }) => {
      definition.provider = null;
    },
    null,
  ],
  [
    'has an answer without its text',
    'memories.json',
    ({ steps }) => {
      steps[0]!.output = null;
    },
    { step: 1, what: 'the reply' },
  ],
  [
    'was halted before its first step',
    'memories.json',
    (bundle) => {
      Object.assign(bundle, { steps: [], transcript: [] });
      bundle.end.status = 'halted';
    },
    null,
  ],
  [
    'waits until its budget is raised',
    'exhausted.json',
    ({ definition, task, end }) => {
      definition.budget!.on_exhausted = 'wait';
      task.budget = definition.budget;
      Object.assign(end, { status: 'waiting', error: null, error_code: null });
    },
    null,
  ],
  [
    'has no time of its start, from which seconds are counted',
    'memories.json',
    ({ task, definition }) => {
      task.started_at = null;
      definition.budget = { max_cost_usd: null, max_tokens: null, max_seconds: 60, on_exhausted: 'halt' };
    },
    null,
  ],
  [
    'has a step whose cost nobody knows',
    'tools.json',
    ({ steps }) => {
      steps[0]!.usage.cost = null;
    },
    null,
  ],
];

it.each(OTHERS)('a replay of a run that %s (%s)', async (_what, name, change, difference) => {
  const bundle = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as RunBundle;
  change(bundle);
  const found = (await replay(bundle, createOutputGuards(judge))).difference;
  expect(found && { step: found.step, what: found.what }).toEqual(difference);
});

it('a replay that fails for another reason reports that', async () => {
  const bundle = JSON.parse(readFileSync(join(FOLDER, 'tools.json'), 'utf8')) as RunBundle;
  bundle.definition.skills = null as never;
  await expect(replay(bundle, createOutputGuards(judge))).rejects.toThrow(TypeError);
});
