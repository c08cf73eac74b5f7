import { type Definition, isVendor } from '../domain/definition.ts';
import { unprocessable } from '../domain/errors.ts';
import { type ForkEffects, stateBefore } from '../domain/fork.ts';
import type { LoopState } from '../domain/run-loop.ts';
import type { Seed } from '../store/forks.ts';
import type { Store } from '../store/index.ts';

/** The run that is to be forked. */
export interface ForkSource {
  id: string;
  prompt: string;
  definition_hash: string;
}

export interface ForkAt {
  source: ForkSource;
  from_step: number;
  effects: ForkEffects;
  prompt?: string | undefined;
}

interface PlannedFork {
  /** The source's own: a fork shows what happens from a step on, other things being equal. */
  definition: Definition;
  /** The prompt that the fork is a run of. */
  prompt: string;
  seed: Seed;
  /** Where its loop begins. */
  state: LoopState;
}

/** What a fork begins with. Refuses where the source cannot be taken up at the step. */
export async function plannedFork(
  store: Pick<Store, 'definitions' | 'forks'>,
  { source, from_step, effects, prompt }: ForkAt,
): Promise<PlannedFork> {
  const definition = await store.definitions.get(source.definition_hash);
  if (definition.provider && isVendor(definition.provider))
    throw unprocessable([{ path: '', message: KEPT_BY_VENDOR }], 'fork_unsupported');
  const steps = await store.forks.steps(source.id);
  if (!steps.some(({ step }) => step === from_step))
    throw unprocessable([{ path: 'from_step', message: noStep(steps.at(-1)?.step) }], 'no_such_step');
  const calls = new Map(steps.map(({ step, calls }) => [step, calls]));
  const state = await stateBefore(from_step, definition.settings, (step) => calls.get(step) ?? []);
  const anew = from_step === 1 && prompt !== undefined;
  return {
    definition,
    prompt: anew ? prompt : source.prompt,
    state,
    seed: {
      task_id: source.id,
      step: from_step,
      effects,
      definition_hash: source.definition_hash,
      turns: state.turns,
      copied: !anew,
      message: anew ? null : (prompt ?? null),
    },
  };
}

const KEPT_BY_VENDOR =
  "The conversation of this run is kept in a session at the model's vendor, which cannot be taken up at an earlier step; send the prompt again instead";

const noStep = (last: number | undefined) =>
  last === undefined
    ? 'The run has not begun its first step, so there is nothing to fork yet'
    : `The run has no such step; its steps are 1 to ${last}`;
