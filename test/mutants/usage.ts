import type { Mutant } from './mutant.ts';

const EXACT = { file: 'test/api/usage.test.ts', name: 'is exactly what the tasks say' };
const OWN = { file: 'test/api/usage.test.ts', name: "is one's own; everybody's is for administrators" };

export default [
  {
    id: 'usage/of-everybody',
    file: 'src/store/statements/usage.ts',
    text: 'FROM usage_runs WHERE hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR owner = :owner::text)',
    replacement:
      'FROM usage_runs WHERE hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR true)',
    harm: 'Every user sees what everybody spends.',
    tests: [OWN],
  },
  {
    id: 'usage/calls-of-everybody',
    file: 'src/store/statements/usage.ts',
    text: 'WHERE kind = :kind AND hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR owner = :owner::text)',
    replacement:
      'WHERE kind = :kind AND hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR true)',
    harm: "A user sees the names of other users' tools.",
    tests: [OWN],
  },
  {
    id: 'usage/everybody-without-administrator',
    file: 'src/api/usage.ts',
    text: "if (scope === 'all' && !is_admin)",
    replacement: "if (scope === 'all' && false)",
    harm: 'Anybody reads the usage of everybody.',
    tests: [OWN],
  },
  {
    id: 'usage/not-counted-before-reading',
    file: 'src/api/usage.ts',
    text: '    await store.count();\n',
    replacement: '',
    harm: 'What was spent in the last minute is missing.',
    tests: [EXACT],
  },
  {
    id: 'usage/counted-twice',
    file: 'src/store/statements/usage.ts',
    text: 'SET usage_counted = true',
    replacement: 'SET usage_counted = (t.id IS NULL)',
    harm: 'Every look at the usage doubles what was spent.',
    tests: [{ file: 'test/api/usage.test.ts', name: 'counts each task once' }],
  },
  {
    id: 'usage/each-evaluated-item-is-a-group',
    file: 'prisma/functions/add_usage.sql',
    text: 'coalesce(e.workflow_id, CASE',
    replacement: 'coalesce(NULL, CASE',
    harm: 'Usage by workflow has a row and a colour for each item of a dataset, all with the same name.',
    tests: [{ file: 'test/api/usage.test.ts', name: 'counts runs of an evaluation for the workflow that is evaluated' }],
  },
] satisfies Mutant[];
