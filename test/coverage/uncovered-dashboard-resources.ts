import type { Uncovered } from './uncovered.ts';

/** Those of the resources of the dashboard. */
export const UNCOVERED_OF_RESOURCES: readonly Uncovered[] = [
  {
    file: 'src/dashboard/resources/mcp-sign-in.tsx',
    text: 'if (is_started.current) return;',
    reason: 'React runs an effect twice only in a development build.',
  },
  {
    file: 'src/dashboard/resources/panels/mcp-sign-in-line.tsx',
    text: 'staysAtServer(redirect) ? open(redirect) : ask(redirect)',
    reason: 'A test takes it, but the page leaves for the server before what it executed could be written.',
  },
];
