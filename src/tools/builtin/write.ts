import { fileTool } from './file-tool.ts';

export const writeTool = fileTool(
  {
    name: 'write',
    description: 'Writes a file of the workspace, with the directories that lead to it. A file that is there is replaced.',
    // The same content written twice is the same file.
    effect: 'idempotent',
    parameters: {
      type: 'object',
      properties: {
        file_path: { type: 'string', description: 'Path in the workspace' },
        content: { type: 'string', description: 'The whole content' },
      },
      required: ['file_path', 'content'],
    },
  },
  { at_vendor: true },
);
