import type { Caller } from '../../../identity/caller.ts';
import { type CompatServices, resolveModel } from '../runs.ts';

interface Listed {
  id: string;
  name: string;
  created_at: unknown;
}

const toModel = ({ id, name, created_at }: Listed) => ({
  id,
  name,
  object: 'model' as const,
  owned_by: 'perdura',
  created: Math.floor(new Date(created_at as string).getTime() / 1_000),
});
const toAgentModel = ({ name, created_at }: Omit<Listed, 'id'>) => toModel({ id: name, name, created_at });
const toWorkflowModel = ({ id, title, created_at }: Omit<Listed, 'name'> & { title: string | null }) =>
  toModel({ id, name: title ?? id, created_at });

/** Lists the models that the caller can name as `model`. */
export async function listModels({ store }: CompatServices, caller: Caller) {
  const [agents, workflows] = await Promise.all([
    store.agents.list({ limit: MOST_MODELS }),
    store.workflows.list({ limit: MOST_MODELS, owner: caller.key, single_use: false }),
  ]);
  return [...agents.items.map(toAgentModel), ...workflows.items.map(toWorkflowModel)];
}

export async function getModel({ store }: CompatServices, name: string, caller: Caller) {
  const { workflow, agent } = await resolveModel(store, name, caller);
  return workflow ? toWorkflowModel(workflow) : toAgentModel(agent);
}

const MOST_MODELS = 1_000;
