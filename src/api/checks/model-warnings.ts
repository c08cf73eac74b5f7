import type { Warning } from '../../contracts/common.ts';
import { findKnownModel, getToday, isKnownEffort, type KnownModel } from '../../domain/known-models.ts';
import { describeEnd } from '../../domain/model-ends.ts';
import { findCatalogue } from '../../domain/provider-presets.ts';
import type { Store } from '../../store/index.ts';
import { findOnce } from './find-once.ts';

type Endpoint = Parameters<typeof findCatalogue>[0];

interface ModelUse {
  model: string | null;
  /** Null: the default runtime. */
  provider: Endpoint | null;
}

/**
 * Finds what the vendor of a model says about it. At another endpoint, only a name with the vendor's address (`openai/…`) is passed on
 * to the vendor: your own server keeps a model as long as it likes.
 */
function findVendorModel({ model, provider }: ModelUse): KnownModel | null {
  if (model === null) return null;
  const vendor = provider && findCatalogue(provider);
  return vendor || model.includes('/') ? findKnownModel(model, vendor) : null;
}

/** Finds the records that decide which model is asked. */
interface Finders {
  agents: { find(id: string): Promise<AgentUse | null> };
  providers: { find(id: string): Promise<ProviderUse | null> };
}

interface AgentUse {
  model?: string | null | undefined;
  provider_id?: string | null | undefined;
}

type ProviderUse = Endpoint & { default_model: string | null };

/** Warns about the model of a workflow: its end, and the effort that it is not known to take. */
export async function listWorkflowModelWarnings(store: Finders, workflow: WorkflowUse) {
  const use = await findModelUse(store, workflow);
  return [...listModelWarnings(use, 'model'), ...listEffortWarnings(use, workflow.reasoning_effort)];
}

interface WorkflowUse {
  agent_id: string;
  model?: string | null | undefined;
  reasoning_effort?: string | null | undefined;
}

/** Warns about a model that ends soon or has ended. */
export function listModelWarnings(use: ModelUse, path: string): Warning[] {
  const known = findVendorModel(use);
  const message = known && describeEnd(known, getToday());
  return message ? [{ path, message }] : [];
}

/** Warns about a `reasoning_effort` that the model, or every model, is not known to take. */
export function listEffortWarnings(use: ModelUse, effort: string | null | undefined): Warning[] {
  if (!effort) return [];
  const warn = (message: string) => [{ path: 'reasoning_effort', message }];
  const known = use.model === null ? null : findKnownModel(use.model, use.provider && findCatalogue(use.provider));
  if (!known?.efforts) return isKnownEffort(effort) ? [] : warn(`No model is known to take ${effort}; it is sent as it is`);
  if (takesEffort(known, effort)) return [];
  const taken = known.efforts.length > 0 ? known.efforts.join(', ') : 'no effort';
  return warn(`${known.id} is not known to take ${effort}, so its vendor may refuse it; it takes ${taken}`);
}

/** Perdura leaves `none` out for Anthropic, and sends `low` for `minimal`. */
const takesEffort = ({ efforts, vendor }: KnownModel, effort: string): boolean =>
  efforts!.includes(effort) ||
  (vendor === 'anthropic' && (effort === 'none' || (effort === 'minimal' && efforts!.includes('low'))));

/** Finds the model that an agent's runs ask for; the model of a workflow takes precedence. */
export async function findModelUse(
  store: Finders,
  { model, agent_id }: { model?: string | null | undefined; agent_id: string },
): Promise<ModelUse> {
  const agent = await store.agents.find(agent_id);
  return agent ? findAgentModel(store, { ...agent, model: model ?? agent.model }) : { model: null, provider: null };
}

export async function findAgentModel(store: Pick<Finders, 'providers'>, { model, provider_id }: AgentUse): Promise<ModelUse> {
  const provider = provider_id ? await store.providers.find(provider_id) : null;
  return { model: model ?? provider?.default_model ?? null, provider };
}

/** Finds the records of an import: a workflow's agent may be stored or imported with it. Each stored record is read once. */
export function createImportFinders(
  { agents, providers }: Pick<Store, 'agents' | 'providers'>,
  imported_agents: readonly (AgentUse & { id?: string | undefined })[],
): Finders {
  const findStored = findOnce<AgentUse>(agents.find);
  return {
    agents: { find: async (id) => (await findStored(id)) ?? imported_agents.find((agent) => agent.id === id) ?? null },
    providers: { find: findOnce<ProviderUse>(providers.find) },
  };
}
