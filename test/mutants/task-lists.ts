import type { Mutant } from './mutant.ts';

const tests = (name: string) => [{ file: 'test/api/task-lists.test.ts', name }];

export default [
  {
    id: 'task-lists/of-everybody',
    file: 'src/api/tasks.ts',
    text: 'store.tasks.errors({ ...query, owner: caller.key })',
    replacement: 'store.tasks.errors({ ...query })',
    harm: "Every user reads the errors of everybody's runs.",
    tests: tests('by their owner only'),
  },
  {
    id: 'task-lists/filter-not-read',
    file: 'src/store/task-lists.ts',
    text: 'Object.entries({ owner, status, error_code, model, trigger, definition_hash })',
    replacement: 'Object.entries({ owner, status, error_code, model, definition_hash })',
    harm: 'A filter is accepted and does nothing: the operator halts the wrong runs.',
    tests: tests('by '),
  },
  {
    id: 'task-lists/equal-values-skipped',
    file: 'src/store/task-lists.ts',
    text: '(${by}, id) < (${value}, ${id}::uuid)',
    replacement: '${by} < ${value}',
    harm: 'Runs that cost the same are missing from the next page.',
    tests: tests('pages in the order'),
  },
  {
    id: 'task-lists/cursor-of-another-order',
    file: 'src/store/task-lists.ts',
    text: 'of !== sort ||',
    replacement: '',
    harm: 'A cursor that is used with another order skips runs in silence.',
    tests: tests('a cursor of another order is refused'),
  },
] satisfies Mutant[];
