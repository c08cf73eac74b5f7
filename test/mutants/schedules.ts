import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'schedules/end',
    file: 'src/domain/cadence.ts',
    text: 'due > cadence.end_at) return',
    replacement: 'due >= cadence.end_at) return',
    harm: 'The last run of a schedule is missing.',
    tests: [{ file: 'test/unit/cadence.test.ts', name: 'ends with end_at, which is still one of its times' }],
  },
  {
    id: 'schedules/start',
    file: 'src/domain/cadence.ts',
    text: 'after < start ? start',
    replacement: 'after < start ? start + every',
    harm: 'The first run of a schedule is missing.',
    tests: [{ file: 'test/unit/cadence.test.ts', name: 'is due at its start' }],
  },
  {
    id: 'schedules/phase',
    file: 'src/domain/cadence.ts',
    text: 'wholeSecond(cadence.start_at) % every',
    replacement: '0',
    harm: 'A daily report of 9:00 is sent at midnight UTC.',
    tests: [{ file: 'test/unit/cadence.test.ts', name: 'gives the engine a phase' }],
  },
  {
    id: 'schedules/overlap',
    file: 'src/temporal/activities/fire.ts',
    text: "overlap_policy === 'skip' ? await",
    replacement: "overlap_policy === 'enqueue' ? await",
    harm: 'Runs of a slow schedule pile up.',
    tests: [{ file: 'test/temporal/schedules.test.ts', name: 'skips a run while the previous one is running' }],
  },
  {
    id: 'schedules/identity',
    file: 'src/identity/later-starts.ts',
    text: 'if (identity && principalKey(identity) === owner) return null;',
    replacement: 'return null;',
    harm: 'A schedule asks the default runtime with a token that was withdrawn.',
    tests: [{ file: 'test/temporal/schedules.test.ts', name: 'records a fire as failed when the identity provider refuses' }],
  },
] satisfies Mutant[];
