import type { ToolSpec } from '../../domain/definition.ts';
import { fileTool } from './file-tool.ts';

export const writeSpec: ToolSpec = {
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
};

export const write = fileTool('write');
