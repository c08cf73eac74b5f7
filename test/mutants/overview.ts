import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'overview/last-day-left-out',
    file: 'src/dashboard/runs/task-query.ts',
    text: 'beginOf(to, 1)',
    replacement: 'beginOf(to, 0)',
    harm: 'Whoever asks for the runs up to Friday gets those up to Thursday.',
    tests: [{ file: 'test/unit/dashboard-task-query.test.ts', name: 'the last one included' }],
  },
  {
    id: 'overview/fastest-tool',
    file: 'src/dashboard/overview/today.tsx',
    text: 'other.p95_ms - one.p95_ms',
    replacement: 'one.p95_ms - other.p95_ms',
    harm: 'The overview blames the fastest tool.',
    tests: [{ file: 'test/browser/dashboard-overview.test.ts', name: 'say what failed, waits, was spent and is slow' }],
  },
  {
    id: 'overview/newest-wait',
    file: 'src/dashboard/overview/today.tsx',
    text: "sort: 'oldest'",
    replacement: "sort: 'newest'",
    harm: 'The run that has waited for a week is not the one that is shown.',
    tests: [{ file: 'test/browser/dashboard-overview.test.ts', name: 'say what failed, waits, was spent and is slow' }],
  },
] satisfies Mutant[];
