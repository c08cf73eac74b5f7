import { overrideDestination, toolDestination } from '../../domain/destinations.ts';
import type { PythonPorts } from '../../tools/python.ts';
import type { SharedServices } from '../core.ts';

/** Opens the tokens for a custom tool's variables: by the tool's own mapping, or by the workflow's overrides. */
export const toolTokens =
  ({ store }: Pick<SharedServices, 'store'>): PythonPorts['openToken'] =>
  async (name, { tool, variable }, { owner: principal, task_id, definition_hash }) => {
    const { workflow } = await store.definitions.get(definition_hash);
    const { id, overridden } = await identified(store, tool, workflow.id);
    const facts = { ...tool, id };
    const destination = overridden.includes(variable)
      ? overrideDestination(workflow, facts, variable)
      : toolDestination(facts, variable);
    return store.tokens.open({ name, principal, destination, task_id });
  };

/** Definitions from before grants existed only name their tools. Such a run uses the current tool and overrides of those names. */
async function identified(
  store: SharedServices['store'],
  { id, name, overridden, env }: Parameters<PythonPorts['openToken']>[1]['tool'],
  workflow_id: string,
) {
  if (id && overridden) return { id, overridden };
  const [tool, workflow] = await Promise.all([store.customTools.named(name), store.workflows.find(workflow_id)]);
  if (!tool) throw new Error(`The custom tool ${name} no longer exists`);
  const overrides = (workflow?.credential_overrides ?? {}) as Record<string, string>;
  return { id: tool.id, overridden: Object.keys(env).filter((variable) => overrides[variable] === env[variable]) };
}
