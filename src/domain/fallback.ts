import { type Definition, isVendor } from './definition.ts';
import { dropExtras } from './extras.ts';
import type { FallbackReason } from './fallback-reasons.ts';
import type { ModelFailure } from './model-failure.ts';
import type { TranscriptMessage } from './transcript.ts';

/*
 * The models of a run have positions: 0 is its own, n the nth of its fallbacks. Only the statement that notes a failure moves a run
 * to another position, and the one that begins a step moves it back once its time is over. So a lost attempt neither repeats a switch
 * nor forgets it, and all attempts of a step ask the same position until one of them has finally failed.
 */

/** A model that has failed at the step at which the run left it. */
interface FailedPosition {
  position: number;
  /** Null: none for which a fallback can be named. */
  reason: FallbackReason | null;
  code: string;
  message: string;
}

/** Where a run is that has left its own model, as its task keeps it. */
export interface FallbackState {
  /** 0: at its own model again. */
  position: number;
  /** The step at which the run came here, and why it left its own model. */
  step: number;
  reason: FallbackReason;
  /** The models that failed at this step, the first one first. */
  failures: FailedPosition[];
}

/** The state as a step reads it. */
export interface RunFallback extends FallbackState {
  /** The seconds since the run came here. */
  seconds: number;
  /** The positions that answered earlier steps, without those of the run's own model. */
  answered: Record<string, number>;
}

/** Returns the position that a step asks. Its first attempt decides, whatever the time is at the later ones. */
export function getPosition(
  definition: Definition,
  at: RunFallback | null,
  { step, attempts }: { step: number; attempts: number },
): number {
  if (!at) return 0;
  const { fallback_minutes: minutes } = definition;
  if (at.step === step || attempts > 0 || minutes === undefined || !mayReturn(definition)) return at.position;
  return at.seconds >= minutes * 60 ? 0 : at.position;
}

/** Returns the state of a run that asks its own model again, to be written with the begin of the step; null: it does not return. */
export const findReturn = (at: RunFallback | null, position: number, step: number): FallbackState | null =>
  at && at.position !== position ? { position, step, reason: at.reason, failures: [] } : null;

/** False if the run's own model keeps the conversation at its vendor: it lacks what others have answered meanwhile. */
const mayReturn = ({ provider }: Definition): boolean => !(provider && isVendor(provider));

/** Returns a definition whose model is the one at a position. */
export function applyFallback(definition: Definition, position: number): Definition {
  const fallback = definition.fallbacks?.[position - 1];
  if (!fallback) return definition;
  const { provider, model, exchange_limits: limits } = fallback;
  if (!provider) return { ...definition, model };
  const { exchange_limits: _, ...rest } = definition;
  const { tools } = definition;
  return {
    ...rest,
    ...(limits ? { exchange_limits: limits } : {}),
    provider,
    model: model ?? provider.default_model,
    // A run that begins with the default runtime is offered no custom tools, and stays without them.
    tools: definition.provider ? tools : tools.filter(({ kind }) => kind !== 'custom'),
  };
}

/** Returns the reason why the model at a position cannot be asked at all; null if it can. */
export function findUnusable({ fallbacks = [] }: Definition, position: number): string | null {
  const { missing, provider } = fallbacks[position - 1] ?? {};
  if (missing) return `No provider with id ${missing}`;
  return provider && isVendor(provider) ? `The provider ${provider.name} ${KEEPS_CONVERSATIONS}` : null;
}

export const KEEPS_CONVERSATIONS =
  'keeps conversations in its own sessions, which cannot start in the middle of one; use a provider of type `anthropic_messages`';

interface Left {
  /** The position that has failed. */
  position: number;
  at: RunFallback | null;
  step: number;
  failure: Pick<ModelFailure, 'code' | 'message'> & { reason: FallbackReason | null };
}

/**
 * Returns where a run goes when a model has finally failed; null if nobody is left. Each position is asked once a step: those after
 * the failed one, then the others from the first. A fallback that fails for any reason passes the step on for the reason that led to it.
 */
export function findNext(definition: Definition, { position, at, step, failure }: Left): FallbackState | null {
  const failures = [...listFailures(at, step), { position, ...failure }];
  const reasons = [...failures.flatMap((one) => one.reason ?? []), ...(at && position > 0 ? [at.reason] : [])];
  const [first_reason] = reasons;
  if (!first_reason) return null;
  const { fallbacks = [] } = definition;
  const all = [0, ...fallbacks.map((_, index) => index + 1)];
  const next = [...all.slice(position + 1), ...all.slice(0, position)].find(
    (one) =>
      !failures.some((failed) => failed.position === one) &&
      (one === 0 ? mayReturn(definition) : reasons.some((why) => fallbacks[one - 1]!.on.includes(why))),
  );
  return next === undefined ? null : { position: next, step, reason: failure.reason ?? first_reason, failures };
}

const listFailures = (at: RunFallback | null, step: number): FailedPosition[] => (at?.step === step ? at.failures : []);

const OTHERS_CHARACTERS = 400;

/** Returns the failure of a step at which every model has failed: the first one's, with what the others said. */
export function sumFailures<F extends Pick<ModelFailure, 'code' | 'message'>>(
  definition: Definition,
  { position, at, step, failure }: Omit<Left, 'failure'> & { failure: F },
): Pick<ModelFailure, 'code' | 'message'> {
  const [first, ...others] = [...listFailures(at, step), { position, ...failure }];
  const said = others.map((one) => `${formatPlace(definition, one.position)}: ${one.message.slice(0, OTHERS_CHARACTERS)}`);
  return { code: first!.code, message: [first!.message, ...said].join('; then ').toWellFormed() };
}

/** Names the model at a position, for people. */
export function formatPlace(definition: Definition, position: number): string {
  const { provider, model } = applyFallback(definition, position);
  return [model ?? 'the default model', provider ? `of ${provider.name}` : 'of the default runtime'].join(' ');
}

/** What `log fallback` names. */
export const toPlace = ({ provider, model }: Pick<Definition, 'provider' | 'model'>) => ({
  provider_id: provider?.id ?? null,
  provider: provider?.name ?? null,
  model,
});

/**
 * Returns a transcript without what only the model that wrote a reply understands, such as its signed thinking, in the replies of
 * other positions.
 */
export function leaveOutForeign<M extends Pick<TranscriptMessage, 'role' | 'step' | 'extra'>>(
  messages: readonly M[],
  { position, answered }: { position: number; answered: Record<string, number> },
): M[] {
  return dropExtras(messages, ({ step }) => (answered[step] ?? 0) === position);
}
