import { fileTool } from './file-tool.ts';

export const readTool = fileTool(
  {
    name: 'read',
    description: 'Reads a text file of the workspace. Lines come numbered; long files in parts, with offset and limit.',
    effect: 'read',
    parameters: {
      type: 'object',
      properties: {
        file_path: { type: 'string', description: 'Path in the workspace' },
        offset: { type: 'integer', minimum: 1, description: 'First line to read; default 1' },
        limit: { type: 'integer', minimum: 1, description: 'Most lines to read; default 2000' },
      },
      required: ['file_path'],
    },
  },
  { at_vendor: true },
);
