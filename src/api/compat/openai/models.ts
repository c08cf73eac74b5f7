import type { Caller } from '../../../identity/caller.ts';
import { type CompatServices, namedBy } from '../runs.ts';

interface Listed {
  id: string;
  name: string;
  created_at: unknown;
}

const wired = ({ id, name, created_at }: Listed) => ({
  id,
  name,
  object: 'model' as const,
  owned_by: 'perdura',
  created: Math.floor(new Date(created_at as string).getTime() / 1_000),
});
const ofAgent = ({ name, created_at }: Omit<Listed, 'id'>) => wired({ id: name, name, created_at });
const ofWorkflow = ({ id, title, created_at }: Omit<Listed, 'name'> & { title: string | null }) =>
  wired({ id, name: title ?? id, created_at });

/** What the caller can name as `model`. */
export async function modelsOf({ store }: CompatServices, caller: Caller) {
  const [agents, workflows] = await Promise.all([
    store.agents.list({ limit: MOST_MODELS }),
    store.workflows.list({ limit: MOST_MODELS, owner: caller.key, single_use: false }),
  ]);
  return [...agents.items.map(ofAgent), ...workflows.items.map(ofWorkflow)];
}

export async function modelOf({ store }: CompatServices, name: string, caller: Caller) {
  const { workflow, agent } = await namedBy(store, name, caller);
  return workflow ? ofWorkflow(workflow) : ofAgent(agent);
}

const MOST_MODELS = 1_000;
