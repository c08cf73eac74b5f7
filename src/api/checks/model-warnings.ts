import type { Warning } from '../../contracts/common.ts';
import { findKnownModel, getToday, type KnownModel } from '../../domain/known-models.ts';
import { describeEnd } from '../../domain/model-ends.ts';
import { findCatalogue } from '../../domain/provider-presets.ts';
import type { Store } from '../../store/index.ts';

type Endpoint = Parameters<typeof findCatalogue>[0];

interface ModelUse {
  model: string | null;
  /** Null: the default runtime. */
  provider: Endpoint | null;
}

/**
 * Finds what the vendor of a model says about it. At another endpoint, only a name with the vendor's address (`openai/…`) is passed on
 * to the vendor: a server of one's own keeps a model as long as it likes.
 */
function findVendorModel({ model, provider }: ModelUse): KnownModel | null {
  if (model === null) return null;
  const vendor = provider && findCatalogue(provider);
  return vendor || model.includes('/') ? findKnownModel(model, vendor) : null;
}

/** Warns about a model that ends soon or has ended. */
export function listModelWarnings(use: ModelUse, path: string): Warning[] {
  const known = findVendorModel(use);
  const message = known && describeEnd(known, getToday());
  return message ? [{ path, message }] : [];
}

/** Finds the model that an agent's runs ask for; the model of a workflow takes precedence. */
export async function findModelUse(
  store: Pick<Store, 'agents' | 'providers'>,
  { model, agent_id }: { model?: string | null | undefined; agent_id: string },
): Promise<ModelUse> {
  const agent = await store.agents.find(agent_id);
  return agent ? findAgentModel(store, { ...agent, model: model ?? agent.model }) : { model: null, provider: null };
}

export async function findAgentModel(
  store: Pick<Store, 'providers'>,
  { model, provider_id }: { model?: string | null | undefined; provider_id?: string | null | undefined },
): Promise<ModelUse> {
  const provider = provider_id ? await store.providers.find(provider_id) : null;
  return { model: model ?? provider?.default_model ?? null, provider };
}
