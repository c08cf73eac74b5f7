/**
 * Selects cases that differ only in data: `npm test` runs every n-th, and `npm run test:long` all. The first one always runs.
 * Planted faults are judged by all of them.
 */
export const someOf = <T>(all: readonly T[], nth: number): T[] => all.filter((_, index) => everyCase() || index % nth === 0);

/** True if everything must run, however slow. */
export const everyCase = () => process.env.EVERY_CASE === '1';
