import type { PinnedTool } from '../domain/definition.ts';
import { toolIdentity } from '../domain/tool-guards.ts';
import type { ToolSource } from './source.ts';

/**
 * Creates tools that are only definitions, which an agent or a client passes to the model. Nothing here executes them; a call
 * fails with that reason.
 */
export function createDefinitionTools(specs: readonly Extract<PinnedTool, { kind: 'definition' | 'client' }>[]): ToolSource {
  return {
    list: async () =>
      specs.map(({ kind, name, description, parameters, effect }) => {
        return { name, description, parameters, effect, identity: toolIdentity(kind, name) };
      }),
    call: async ({ name }) => ({ content: `The tool ${name} is only defined here; nothing executes it`, failed: true }),
  };
}
