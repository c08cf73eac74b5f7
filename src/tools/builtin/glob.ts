import { fileTool } from './file-tool.ts';

export const globTool = fileTool(
  {
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
  },
  { at_vendor: true },
);
