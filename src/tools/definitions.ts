import type { PinnedTool, ToolSpec } from '../domain/definition.ts';
import type { ToolSource } from './source.ts';

/** Definitions that an agent or a client passes to the model. Nothing here executes them; a call that gets here fails with that reason. */
export function definedTools(specs: readonly Extract<PinnedTool, { kind: 'definition' | 'client' }>[]): ToolSource {
  return {
    list: async () =>
      specs.map(({ name, description, parameters, effect }): ToolSpec => ({ name, description, parameters, effect })),
    call: async ({ name }) => ({ content: `The tool ${name} is only defined here; nothing executes it`, failed: true }),
  };
}
