import { z } from 'zod';
import { FALLBACK_REASONS } from '../domain/fallback-reasons.ts';
import { Id } from './common.ts';
import { ModelName } from './model-name.ts';

const MOST_FALLBACKS = 8;
const MOST_MINUTES = 10_080;

const hasFew = ({ length }: readonly unknown[]) => length <= MOST_FALLBACKS;
const TOO_MANY = { message: `A list of fallbacks may have ${MOST_FALLBACKS} entries` };

const on = z
  .array(z.enum(FALLBACK_REASONS))
  .min(1)
  .meta({
    example: ['overloaded'],
    description: 'The failures after which it is asked; a failure that passes is retried as often as without a fallback first',
  });
const model = ModelName.meta({ description: "Null: the provider's default model" });

export const Fallback = z
  .object({
    on,
    provider_id: Id.nullable().default(null).meta({ description: 'Null: the same provider, with another model' }),
    model,
  })
  .refine((one) => one.provider_id !== null || one.model !== null, {
    message: 'Name a `provider_id`, a `model`, or both',
  })
  .meta({ id: 'Fallback', example: { on: ['overloaded', 'unreachable'], provider_id: null, model: 'gpt-5-mini' } });

/** An imported agent may name a provider that this installation does not have. */
const StoredFallback = z.object({ on, provider_id: z.string().nullable().default(null), model }).meta({ id: 'StoredFallback' });
export type StoredFallback = z.output<typeof StoredFallback>;

/** Who is asked instead of a model that failed: fields of agents and providers. */
export const FallbackFields = {
  fallbacks: z
    .array(Fallback)
    .refine(hasFew, TOO_MANY)
    .default([])
    .meta({
      description:
        "Models that are asked in this order when a run's own model fails. An agent's list replaces that of its provider; the lists of the " +
        'fallbacks themselves do not count. Empty: none',
    }),
  fallback_minutes: z
    .int()
    .min(0)
    .max(MOST_MINUTES)
    .nullable()
    .default(null)
    .meta({
      description:
        'Minutes after which a run asks its own model again; 0: at its next step; null: it stays with the fallback to its end. ' +
        'Counts with the `fallbacks` next to it',
    }),
};

export const StoredFallbacks = z.array(StoredFallback).refine(hasFew, TOO_MANY).default([]);
