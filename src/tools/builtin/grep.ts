import type { ToolSpec } from '../../domain/definition.ts';
import type { ToolCall, ToolOutcome } from '../source.ts';
import { type FilePorts, fileTool } from './file-tool.ts';

export const grepSpec: ToolSpec = {
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
};

const NAMES = { '-i': 'case_insensitive', '-n': 'line_numbers', '-A': 'after', '-B': 'before' };

const searching = fileTool('grep', NAMES);

export function grep(ports: FilePorts) {
  const search = searching(ports);
  return (call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> => {
    const { '-C': around, ...rest } = call.arguments;
    const both = around === undefined ? {} : { '-A': around, '-B': around };
    return search({ ...call, arguments: { ...both, ...rest } }, signal);
  };
}
