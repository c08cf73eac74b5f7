import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'bundles/first-difference',
    file: 'src/replay/difference.ts',
    text: 'if (first && first.step <= step) return;',
    replacement: '',
    harm: '`perdura replay` names the last difference, which only follows from the first.',
    tests: [{ file: 'test/unit/replay-differences.test.ts', name: 'keeps the difference of the earliest step' }],
  },
  {
    id: 'bundles/ordered-keys',
    file: 'src/replay/difference.ts',
    text: 'canonicalJson(both.recorded) !== canonicalJson(both.replayed)',
    replacement: 'JSON.stringify(both.recorded) !== JSON.stringify(both.replayed)',
    harm: '`perdura replay` reports differences in nothing but the order of fields.',
    tests: [{ file: 'test/unit/replay-differences.test.ts', name: 'does not mind the order of fields' }],
  },
] satisfies Mutant[];
