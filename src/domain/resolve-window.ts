import type { ContextWindow } from './context-window.ts';
import { findKnownModel } from './known-models.ts';

interface WindowSources {
  /** The provider's setting. */
  set: number | null;
  /** What the endpoint named. */
  named?: number | null;
  fallback: number;
}

/** Returns the context window of a model. A name that only resembles a known one says nothing about its window. */
export function resolveContextWindow(model: string | null, { set, named = null, fallback }: WindowSources): ContextWindow {
  if (set !== null) return { tokens: set, from: 'provider' };
  if (named !== null) return { tokens: named, from: 'endpoint' };
  const known = model ? (findKnownModel(model)?.context_window ?? null) : null;
  return known ? { tokens: known, from: 'known' } : { tokens: fallback, from: 'default' };
}
