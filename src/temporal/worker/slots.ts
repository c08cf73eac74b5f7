import { getHeapStatistics } from 'node:v8';

/** What a step or a call holds at most in this process: a transcript as long as a model's window, a few times over. Most wait and hold little. */
const LARGEST_BYTES = 4 * 1024 ** 2;
const FEWEST = 100;
const MOST = 1_000;

/** How many steps and calls a worker runs at once in each of its queues. */
export const countSlots = (set: number | undefined, queues: number): number => set ?? Math.ceil(countFittingSlots() / queues);

/** The same in all of them together, unless it is set: as many of the largest as fit into half of its memory. */
export const countFittingSlots = (heap_bytes = getHeapStatistics().heap_size_limit): number =>
  Math.min(MOST, Math.max(FEWEST, Math.floor(heap_bytes / 2 / LARGEST_BYTES)));
