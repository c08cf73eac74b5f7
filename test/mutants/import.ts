import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'import/name-taken',
    file: 'src/store/resources/transfer.ts',
    text: 'values && !created.has(id)',
    replacement: '!values && !created.has(id)',
    harm: 'An import reports records as created that were skipped.',
    tests: [{ file: 'test/api/transfer.test.ts', name: 'reports which items failed and keeps the others' }],
  },
  {
    id: 'import/taken-ids',
    file: 'src/store/resources/transfer.ts',
    text: '&& !taken_ids.has(requested_id)',
    replacement: '',
    harm: 'An import whose id is taken overwrites nothing and creates nothing.',
    tests: [{ file: 'test/api/transfer.test.ts', name: 'by themselves, each item for itself' }],
  },
  {
    id: 'import/workflows-of-others',
    file: 'src/api/routes/transfer.ts',
    text: '(rows[0] as { owner?: string }).owner !== caller.key',
    replacement: "(rows[0] as { owner?: string }).owner === ''",
    harm: 'Anyone who knows the id of a workflow exports it.',
    tests: [{ file: 'test/api/transfer.test.ts', name: "exports nobody else's workflow" }],
  },
] satisfies Mutant[];
