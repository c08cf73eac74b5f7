import type { Mutant } from './mutant.ts';

const FAIRNESS = 'test/temporal/fairness.test.ts';

export default [
  {
    id: 'fleet/one-key-for-all',
    file: 'src/temporal/engine.ts',
    text: '    priority: runPriority(labels),\n',
    replacement: '',
    harm: 'One owner's thousand runs make everyone else wait for all of them.',
    tests: [{ file: FAIRNESS, name: 'lets the few runs of another one through' }],
  },
  {
    id: 'fleet/unfair-queues',
    file: 'src/embedded/fair-queues.ts',
    text: "  'matching.enableFairness=true',\n",
    replacement: '',
    harm: 'Owners are known to the engine of npm start, and it serves runs in the order of their arrival.',
    tests: [{ file: FAIRNESS, name: 'lets the few runs of another one through' }],
  },
  {
    id: 'fleet/several-partitions',
    file: 'src/embedded/fair-queues.ts',
    text: "  'matching.numTaskqueueReadPartitions=1',\n  'matching.numTaskqueueWritePartitions=1',\n",
    replacement: '',
    harm: 'A few runs of an owner wait for most of the flood of another one, depending on the partition that each is put in.',
    tests: [{ file: FAIRNESS, name: 'come before runs that a schedule started' }],
  },
  {
    id: 'fleet/scheduled-first-come',
    file: 'src/temporal/priority.ts',
    text: "trigger === 'schedule' ? { priorityKey: SCHEDULED } : {}",
    replacement: '{}',
    harm: 'People wait for runs that nobody waits for.',
    tests: [{ file: FAIRNESS, name: 'come before runs that a schedule started' }],
  },
  {
    id: 'fleet/due-times-without-owner',
    file: 'src/temporal/schedules.ts',
    text: '      priority: sharedBy(owner),\n',
    replacement: '',
    harm: 'The due times of one owner with thousands of schedules delay those of all others.',
    tests: [{ file: FAIRNESS, name: 'every execution that belongs to an owner' }],
  },
  {
    id: 'fleet/long-owners-alike',
    file: 'src/temporal/priority.ts',
    text: "createHash('sha256').update(owner).digest('hex')",
    replacement: 'owner.slice(0, KEY_BYTES)',
    harm: 'The engine refuses the runs of owners with long names, or counts two owners as one.',
    tests: [{ file: 'test/unit/priority.test.ts', name: 'an owner keeps one fairness key' }],
  },
  {
    id: 'fleet/stranded-work',
    file: 'src/embedded/fair-queues.ts',
    text: "`SELECT ${has('task_queues_v2')} OR NOT ${has('tasks')} AS fair`",
    replacement: "`SELECT ${has('task_queues_v2')} OR ${has('task_queues')} AS fair`",
    harm: 'After an upgrade, runs whose next step waited in the engine never continue.',
    tests: [{ file: 'test/embedded/temporal.test.ts', name: 'keeps the queues of a database in which work waits' }],
  },
] satisfies Mutant[];
