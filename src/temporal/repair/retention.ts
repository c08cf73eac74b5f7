import { setTimeout as wait } from 'node:timers/promises';
import type { Sweep, SweepPlace } from '../../store/upkeep/retention.ts';

interface Removed {
  /** The number of removed records by kind, without kinds of which none was removed. */
  removed: Record<string, number>;
  /** True if every sweep has ended. */
  finished: boolean;
}

/** The longest pause between two batches. */
const MOST_PAUSE_MS = 500;

/**
 * Carries out sweeps in turns, batch by batch. Pauses for as long as each batch took, so that others get at least half of the
 * database.
 */
export async function sweep(sweeps: Record<string, Sweep>, within_ms: number): Promise<Removed> {
  const end = performance.now() + within_ms;
  const removed: Record<string, number> = {};
  const unfinished = new Map(Object.entries(sweeps));
  const places = new Map<string, SweepPlace>();
  while (unfinished.size > 0 && performance.now() < end)
    for (const [name, batch] of unfinished) {
      const begin = performance.now();
      const swept = await batch(places.get(name));
      if (swept.removed > 0) removed[name] = (removed[name] ?? 0) + swept.removed;
      if (swept.next) places.set(name, swept.next);
      else unfinished.delete(name);
      await wait(Math.min(performance.now() - begin, MOST_PAUSE_MS));
    }
  return { removed, finished: unfinished.size === 0 };
}
