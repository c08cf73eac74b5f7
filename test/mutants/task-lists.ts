import type { Mutant } from './mutant.ts';

const tests = (name: string) => [{ file: 'test/api/task-lists.test.ts', name }];
const plans = (name: string) => [{ file: 'test/api/read-plans.test.ts', name }];

export default [
  {
    id: 'task-lists/of-everybody',
    file: 'src/api/routes/tasks.ts',
    text: 'store.tasks.errors({ ...query, owner: caller.key })',
    replacement: 'store.tasks.errors({ ...query })',
    harm: "Every user reads the errors of everybody's runs.",
    tests: tests('by their owner only'),
  },
  {
    id: 'task-lists/filter-not-read',
    file: 'src/store/runs/task-lists.ts',
    text: 'Object.entries({ owner, status, error_code, model, trigger, definition_hash })',
    replacement: 'Object.entries({ owner, status, error_code, model, definition_hash })',
    harm: 'A filter is accepted and does nothing: the operator halts the wrong runs.',
    tests: tests('by '),
  },
  {
    id: 'task-lists/equal-values-skipped',
    file: 'src/store/runs/task-lists.ts',
    text: '(${by}, id) < (${place.value}, ${place.id}::uuid)',
    replacement: '${by} < ${place.value}',
    harm: 'Runs that cost the same are missing from the next page.',
    tests: tests('pages in the order'),
  },
  {
    id: 'task-lists/cursor-of-another-order',
    file: 'src/store/runs/task-lists.ts',
    text: 'of !== sort ||',
    replacement: '',
    harm: 'A cursor that is used with another order skips runs in silence.',
    tests: tests('a cursor of another order is refused'),
  },
  {
    id: 'task-lists/unended-left-out',
    file: 'src/store/runs/task-lists.ts',
    text: "part(open, 'completed_at IS NULL')",
    replacement: "part(open, 'false')",
    harm: 'The run that is spending most at the moment is missing from the list of the dearest runs.',
    tests: tests('a run in progress is among the ended ones'),
  },
  {
    id: 'task-lists/counts-on',
    file: 'src/store/runs/task-lists.ts',
    text: 'ORDER BY id DESC LIMIT ${count_to}`',
    replacement: 'ORDER BY id DESC LIMIT ${count_to + 1}`',
    harm: 'A list claims to have counted all tasks when it has stopped counting.',
    tests: tests('are counted as far as asked'),
  },
  {
    id: 'task-lists/planned-for-any-value',
    file: 'src/store/database/installation.sql.ts',
    text: "'force_custom_plan', true",
    replacement: "'force_generic_plan', true",
    harm: 'Each search for a common word reads all tasks of the person.',
    tests: plans('of a person with most of the tasks'),
  },
  {
    id: 'task-lists/counted-in-any-order',
    file: 'src/store/runs/task-lists.ts',
    text: 'ORDER BY id DESC LIMIT ${count_to}`',
    replacement: 'LIMIT ${count_to}`',
    harm: 'Counting a few tasks reads the whole table if those of this person come last.',
    tests: plans('of a person with most of the tasks'),
  },
] satisfies Mutant[];
