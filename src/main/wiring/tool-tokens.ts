import { overrideDestination, toolDestination } from '../../domain/destinations.ts';
import type { PythonPorts } from '../../tools/python.ts';
import type { SharedServices } from '../core.ts';

/** Opens the tokens for a custom tool's variables: by the tool's own mapping, or by the workflow's overrides. */
export const createTokenOpener =
  ({ store }: Pick<SharedServices, 'store'>): PythonPorts['openToken'] =>
  async (name, { tool, variable }, { owner: principal, task_id, definition_hash }) => {
    const { workflow } = await store.definitions.get(definition_hash);
    const destination = tool.overridden.includes(variable)
      ? overrideDestination(workflow, tool, variable)
      : toolDestination(tool, variable);
    return store.tokens.open({ name, principal, destination, task_id });
  };
