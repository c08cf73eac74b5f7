import { z } from 'zod';
import { endpoint } from './endpoint.ts';

export const BuiltinTool = z
  .object({ name: z.string(), description: z.string(), effect: z.string(), parameters: z.record(z.string(), z.unknown()) })
  .meta({ id: 'BuiltinTool' });
export type BuiltinTool = z.output<typeof BuiltinTool>;

export const builtinTools = {
  list: endpoint('GET /api/builtin-tools', {
    operation: 'list_builtin_tools',
    tag: 'Built-in tools',
    summary: 'List the tools that come with this installation',
    description: 'Their names go into `builtin_tools` of an agent.',
    reply: z.array(BuiltinTool),
  }),
};
