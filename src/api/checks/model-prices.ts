import type { StoredFallback } from '../../contracts/fallbacks.ts';
import type { Provider } from '../../contracts/providers.ts';
import { getAskedModel, isVendor } from '../../domain/definition.ts';
import type { UnpricedModel } from '../../domain/unpriced.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { FindModelPrice } from '../ports.ts';
import { findOnce } from './find-once.ts';

/** The choice of models by an agent. */
export interface AskingAgent {
  model?: string | null | undefined;
  provider_id?: string | null | undefined;
  fallbacks?: readonly StoredFallback[] | undefined;
}

/** A model without a price that runs ask, or may ask. */
interface UnpricedPlace extends UnpricedModel {
  /** Set if it is a fallback: the provider that lists it, or null if the agent does, and its place there, from 0. */
  fallback?: { listed_by: string | null; index: number };
}

/** A saved agent or provider, as the workflows that use it would have it. */
export type Changed =
  | { agent: AskingAgent & { id?: string | undefined }; provider?: undefined }
  | { provider: Partial<Provider>; agent?: undefined };

/** A workflow whose model has no price. */
interface UnpricedWorkflow {
  id: string;
  agent_id: string;
  title: string;
  unpriced: UnpricedPlace;
}

export type PriceFinder = ReturnType<typeof createPriceFinder>;

/** Creates what finds the models without a price that runs would ask. */
export function createPriceFinder({
  store,
  findModelPrice,
}: {
  store: Pick<Store, 'providers' | 'workflows'>;
  findModelPrice: FindModelPrice;
}) {
  const findProvider = async (provider_id: string | null | undefined): Promise<Provider | null> =>
    provider_id && isUuid(provider_id) ? store.providers.find(provider_id) : null;

  const findUnpricedAt = (model: string | null, provider: Provider | null): UnpricedModel | null => {
    const asked = getAskedModel({ model, provider });
    return findModelPrice(provider, asked) ? null : { model: asked, provider: provider?.name ?? null };
  };

  /**
   * Returns the first model without a price that runs would ask, or fall back to; null: each has one, or the runs are refused for
   * another reason. `find`: finds providers as they will be.
   */
  async function findUnpriced(
    model: string | null | undefined,
    agent: AskingAgent,
    find: typeof findProvider = findProvider,
  ): Promise<UnpricedPlace | null> {
    const provider = await find(agent.provider_id);
    if (agent.provider_id && !provider) return null;
    const own = findUnpricedAt(model ?? agent.model ?? null, provider);
    // Without a provider, no model has a price.
    if (own || !provider) return own;
    const [fallbacks, listed_by] = agent.fallbacks?.length ? [agent.fallbacks, null] : [provider.fallbacks, provider.id];
    for (const [index, fallback] of fallbacks.entries()) {
      const other = fallback.provider_id === null ? provider : await find(fallback.provider_id);
      // Runs pass over a fallback that is missing or keeps conversations.
      if (fallback.provider_id !== null && (!other || isVendor(other))) continue;
      const unpriced = findUnpricedAt(fallback.model, other);
      if (unpriced) return { ...unpriced, fallback: { listed_by, index } };
    }
    return null;
  }

  /** Returns a finder of providers that reads each once, and knows one as it is going to be. */
  function findEachOnce(changed?: Partial<Provider>): typeof findProvider {
    const find = findOnce(store.providers.find);
    return async (provider_id) => {
      if (!provider_id) return null;
      const stored = await find(provider_id);
      return provider_id === changed?.id ? ({ ...stored, ...changed } as Provider) : stored;
    };
  }

  /** Lists the caller's workflows with a model without a price, as names for a sentence. `limited`: only those that limit dollars. */
  async function listUnpriced(
    caller: Caller,
    { agent, provider }: Partial<Changed>,
    { limited = false, workflow_id }: { limited?: boolean; workflow_id?: string | undefined } = {},
  ): Promise<UnpricedWorkflow[]> {
    const selection = { agent_id: agent?.id, provider_id: provider?.id, workflow_id };
    const workflows = await store.workflows.listAskingModels({ owner: caller.key, limited, ...selection });
    const find = findEachOnce(provider);
    const found: UnpricedWorkflow[] = [];
    for (const { id, title, model, agent: stored_agent } of workflows) {
      const unpriced = await findUnpriced(model, { ...stored_agent, ...agent }, find);
      if (unpriced) found.push({ id, agent_id: stored_agent.id, title: title ?? id, unpriced });
    }
    return found;
  }

  return { findUnpriced, findEachOnce, listUnpriced };
}
