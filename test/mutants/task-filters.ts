import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'task-filters/last-day-left-out',
    file: 'src/dashboard/runs/task-query.ts',
    text: 'parseDayStart(to, 1)',
    replacement: 'parseDayStart(to, 0)',
    harm: 'A person who asks for the runs up to Friday gets those up to Thursday.',
    tests: [{ file: 'test/unit/dashboard-task-query.test.ts', name: 'the last one included' }],
  },
] satisfies Mutant[];
