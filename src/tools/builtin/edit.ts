import { fileTool } from './file-tool.ts';

export const editTool = fileTool(
  {
    name: 'edit',
    description: 'Replaces exact text in a file of the workspace. old_string must name one place, unless replace_all is set.',
    effect: 'write',
    parameters: {
      type: 'object',
      properties: {
        file_path: { type: 'string', description: 'Path in the workspace' },
        old_string: { type: 'string', description: 'The text to replace, exactly as it is in the file' },
        new_string: { type: 'string', description: 'The text to put in its place' },
        replace_all: { type: 'boolean', description: 'Replace every occurrence; default false' },
      },
      required: ['file_path', 'old_string', 'new_string'],
    },
  },
  { at_vendor: true },
);
