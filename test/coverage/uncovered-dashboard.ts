import type { Uncovered } from './uncovered.ts';

/** Those of `src/dashboard`. */
export const UNCOVERED_OF_DASHBOARD: readonly Uncovered[] = [
  {
    file: 'src/dashboard/make/use-model.ts',
    text: 'card_id === DEMO.id ? (demo?.id ?? null)',
    reason: 'The demo model is deleted while the page is open that offers it.',
  },
  {
    file: 'src/dashboard/playground/use-saving.ts',
    text: 'if (copy.current.body !== text)',
    reason: 'A copy of an agent was made, and the request after it failed: saving again makes no second copy.',
  },
  {
    file: 'src/dashboard/workflows/versions.tsx',
    text: '{query.data && query.error && <Failure',
    reason: 'A version that was read, and then cannot be read again.',
  },
];
