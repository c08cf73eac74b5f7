import type { Uncovered } from './uncovered.ts';

/** Those of the resources of the dashboard. */
export const UNCOVERED_OF_RESOURCES: readonly Uncovered[] = [
  {
    file: 'src/dashboard/resources/mcp-sign-in.tsx',
    text: 'if (is_started.current) return;',
    reason: 'React runs an effect twice only in a development build.',
  },
];
