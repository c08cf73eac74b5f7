import { type Definition, getAskedModel } from './definition.ts';
import type { TranscriptMessage } from './transcript.ts';

/** The model that makes replies. */
export interface Maker {
  /** The type of its provider; null: the default runtime. */
  provider_type: string | null;
  /** Null: the one that the installation asks by default. */
  model: string | null;
}

/** Who made the replies of a turn. */
export interface MadeBy {
  turn: number;
  maker: Maker;
  /** The makers of steps that another model has answered. */
  others?: Readonly<Record<number, Maker>>;
}

/** Returns the model that a definition asks, after `applyFallback` for the position of a fallback. */
export const toMaker = ({ provider, model }: Pick<Definition, 'provider' | 'model'>): Maker => ({
  provider_type: provider?.provider_type ?? null,
  model: getAskedModel({ provider, model }),
});

/**
 * Returns the messages of earlier turns for the model that is asked: without what only the model that wrote a reply understands, such as its
 * signed thinking, in replies of others. Nobody is known to have made the replies of a turn that `made_by` does not name.
 */
export function leaveOutOthers<M extends Pick<TranscriptMessage, 'turn' | 'role' | 'step' | 'extra'>>(
  messages: readonly M[],
  { asked, made_by }: { asked: Maker; made_by: readonly MadeBy[] },
): M[] {
  const by_turn = new Map<number | undefined, MadeBy>(made_by.map((one) => [one.turn, one]));
  return dropExtras(messages, ({ turn, step }) => {
    const { maker, others } = by_turn.get(turn) ?? {};
    const { provider_type, model } = others?.[step] ?? maker ?? {};
    return provider_type === asked.provider_type && model === asked.model;
  });
}

/** Removes from replies what only their model understands, unless `isOwn` says that this is the one that is asked. */
export const dropExtras = <M extends Pick<TranscriptMessage, 'role' | 'extra'>>(
  messages: readonly M[],
  isOwn: (message: M) => boolean,
): M[] =>
  messages.map((message) =>
    message.role === 'assistant' && message.extra !== null && !isOwn(message) ? { ...message, extra: null } : message,
  );
