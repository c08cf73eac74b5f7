import { fileTool } from './file-tool.ts';

const NAMES = { '-i': 'case_insensitive', '-n': 'line_numbers', '-A': 'after', '-B': 'before' };

const tool = fileTool(
  {
    name: 'grep',
    description: 'Searches files of the workspace for a regular expression (Python syntax).',
    effect: 'read',
    parameters: {
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'The regular expression' },
        path: { type: 'string', description: 'File or directory to search; default the workspace' },
        glob: { type: 'string', description: 'Only files that match, such as *.py or src/**/*.ts' },
        output_mode: {
          type: 'string',
          enum: ['files_with_matches', 'content', 'count'],
          description: 'Default files_with_matches',
        },
        '-i': { type: 'boolean', description: 'Ignore case' },
        '-n': { type: 'boolean', description: 'Show line numbers with content; default true' },
        '-A': { type: 'integer', minimum: 0, description: 'Lines shown after each match, with content' },
        '-B': { type: 'integer', minimum: 0, description: 'Lines shown before each match, with content' },
        '-C': { type: 'integer', minimum: 0, description: 'Lines shown around each match, with content' },
        multiline: { type: 'boolean', description: 'Let . match line breaks' },
        head_limit: { type: 'integer', minimum: 1, description: 'Most lines of output; default 250' },
      },
      required: ['pattern'],
    },
  },
  { at_vendor: true, rename: NAMES },
);

export const grepTool: typeof tool = {
  ...tool,
  create(ports) {
    const search = tool.create(ports);
    return (call, signal) => {
      const { '-C': around, ...rest } = call.arguments;
      const both = around === undefined ? {} : { '-A': around, '-B': around };
      return search({ ...call, arguments: { ...both, ...rest } }, signal);
    };
  },
};
