import type { PinnedTool, ToolSpec } from '../domain/definition.ts';
import type { ToolSource } from './source.ts';

/** Definitions an agent passes to its model. Nothing here executes them; a call fails with that reason. */
export function definedTools(specs: readonly Extract<PinnedTool, { kind: 'definition' }>[]): ToolSource {
  return {
    list: async () =>
      specs.map(({ name, description, parameters, effect }): ToolSpec => ({ name, description, parameters, effect })),
    call: async ({ name }) => ({ content: `The tool ${name} is only defined here; nothing executes it`, failed: true }),
  };
}
