import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'doctor/exit-code',
    file: 'src/main/commands/doctor.ts',
    text: 'if (!healthy) process.exitCode = 1;',
    replacement: '',
    harm: 'A deployment script takes a broken installation for a sound one.',
    tests: [{ file: 'test/temporal/doctor.test.ts', name: 'misses workers, and is content when there is one' }],
  },
  {
    id: 'doctor/workers',
    file: 'src/main/doctor-checks.ts',
    text: 'if (count > 0) return',
    replacement: 'if (count >= 0) return',
    harm: '`doctor` is content while nobody works.',
    tests: [{ file: 'test/temporal/doctor.test.ts', name: 'misses workers, and is content when there is one' }],
  },
  {
    id: 'doctor/database-down',
    file: 'src/main/commands/doctor.ts',
    text: 'database: () => Promise.reject(error),',
    replacement: '',
    harm: '`doctor` does not mention that the database is down.',
    tests: [{ file: 'test/temporal/doctor.test.ts', name: 'checks the engine if the database is down' }],
  },
  {
    id: 'doctor/attributes',
    file: 'src/main/doctor-checks.ts',
    text: 'if (missing.length === 0) return `${SEARCH',
    replacement: 'if (missing.length >= 0) return `${SEARCH',
    harm: '`doctor` does not mention that runs cannot be searched for.',
    tests: [{ file: 'test/temporal/doctor.test.ts', name: 'names the search attributes that a namespace lacks' }],
  },
  {
    id: 'doctor/age-of-records',
    file: 'src/main/doctor-checks.ts',
    text: 'if (behind_days < 2 ||',
    replacement: 'if (behind_days < 2_000 ||',
    harm: 'Nobody learns that a clock years ahead is making all records old.',
    tests: [{ file: 'test/temporal/doctor.test.ts', name: 'fails while ages are counted up to a time long ago' }],
  },
] satisfies Mutant[];
