/**
 * Of cases that differ in data only, `npm test` runs every n-th and `npm run test:long` all. The first one always runs. Planted
 * faults are judged by all.
 */
export const someOf = <T>(all: readonly T[], nth: number): T[] => all.filter((_, index) => everyCase() || index % nth === 0);

/** Whether everything runs, however slow. */
export const everyCase = () => process.env.EVERY_CASE === '1';
