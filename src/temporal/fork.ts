import { type Definition, isVendor } from '../domain/definition.ts';
import { unprocessable } from '../domain/errors.ts';
import { type ForkEffects, stateBefore } from '../domain/fork.ts';
import type { LoopState } from '../domain/run-loop.ts';
import type { Seed } from '../store/forks.ts';
import type { Store } from '../store/index.ts';

/** The run to fork. */
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
  /** The source run's definition: a fork changes nothing but what happens from its step. */
  definition: Definition;
  /** The prompt that the fork is a run of. */
  prompt: string;
  seed: Seed;
  /** Where its loop begins. */
  state: LoopState;
}

/** The initial state of a fork. Refuses if the source cannot be forked at the step. */
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
  const fresh = from_step === 1 && prompt !== undefined;
  return {
    definition,
    prompt: fresh ? prompt : source.prompt,
    state,
    seed: {
      task_id: source.id,
      step: from_step,
      effects,
      definition_hash: source.definition_hash,
      turns: state.turns,
      copied: !fresh,
      message: fresh ? null : (prompt ?? null),
    },
  };
}

const KEPT_BY_VENDOR =
  "The conversation of this run is kept in a session at the model's vendor, which cannot resume at an earlier step; send the prompt again instead";

const noStep = (last: number | undefined) =>
  last === undefined
    ? 'The run has not begun its first step, so there is nothing to fork yet'
    : `The run has no such step; choose one from 1 to ${last}`;
