import type { ToolSpec } from '../../domain/definition.ts';
import { fileTool } from './file-tool.ts';

export const globSpec: ToolSpec = {
  name: 'glob',
  description: 'Finds files of the workspace by a pattern such as **/*.ts or src/**/*.{js,jsx}; the latest changed come first.',
  effect: 'read',
  parameters: {
    type: 'object',
    properties: {
      pattern: { type: 'string', description: 'The pattern, relative to path' },
      path: { type: 'string', description: 'Directory to search; default the workspace' },
    },
    required: ['pattern'],
  },
};

export const glob = fileTool('glob');
