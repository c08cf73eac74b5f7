import { getHeapStatistics } from 'node:v8';

/**
 * The most memory of a step or a call in this process: a transcript as long as a model's window, a few times over. Most of them
 * wait and need little.
 */
const LARGEST_BYTES = 4 * 1024 ** 2;
const FEWEST = 100;
const MOST = 1_000;

/** Returns how many steps and calls a worker runs at once in each of its queues. */
export const countSlots = (set: number | undefined, queues: number): number => set ?? Math.ceil(countFittingSlots() / queues);

/**
 * Returns how many steps and calls run at once in all queues together, unless that is set: as many of the largest size as fit
 * into half of the memory.
 */
export const countFittingSlots = (heap_bytes = getHeapStatistics().heap_size_limit): number =>
  Math.min(MOST, Math.max(FEWEST, Math.floor(heap_bytes / 2 / LARGEST_BYTES)));
