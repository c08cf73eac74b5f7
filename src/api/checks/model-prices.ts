import type { Provider } from '../../contracts/providers.ts';
import { getAskedModel } from '../../domain/definition.ts';
import type { UnpricedModel } from '../../domain/unpriced.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { FindModelPrice } from '../ports.ts';

/** The choice of a model by an agent. */
export interface AskingAgent {
  model?: string | null | undefined;
  provider_id?: string | null | undefined;
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
  unpriced: UnpricedModel;
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
  /** Returns the model without a price that runs would ask; null: it has one, or the runs are refused for another reason. */
  function findUnpriced(model: string | null | undefined, agent: AskingAgent, provider: Provider | null): UnpricedModel | null {
    if (agent.provider_id && !provider) return null;
    const asked = getAskedModel({ model: model ?? agent.model ?? null, provider });
    return findModelPrice(provider, asked) ? null : { model: asked, provider: provider?.name ?? null };
  }

  const findProvider = async ({ provider_id }: AskingAgent): Promise<Provider | null> =>
    provider_id && isUuid(provider_id) ? store.providers.find(provider_id) : null;

  /** Lists the caller's workflows with a model without a price, as names for a sentence. `limited`: only those that limit dollars. */
  async function listUnpriced(
    caller: Caller,
    { agent, provider }: Partial<Changed>,
    { limited = false, workflow_id }: { limited?: boolean; workflow_id?: string | undefined } = {},
  ): Promise<UnpricedWorkflow[]> {
    const selection = { agent_id: agent?.id, provider_id: provider?.id, workflow_id };
    const workflows = await store.workflows.listAskingModels({ owner: caller.key, limited, ...selection });
    const providers = new Map<string | null | undefined, Provider | null>();
    const found: UnpricedWorkflow[] = [];
    for (const { id, title, model, agent: stored_agent } of workflows) {
      const asking = { ...stored_agent, ...agent };
      const { provider_id } = asking;
      if (!providers.has(provider_id)) providers.set(provider_id, await findProvider(asking));
      const stored_provider = providers.get(provider_id) ?? null;
      const used_provider = provider ? ({ ...stored_provider, ...provider } as Provider) : stored_provider;
      const unpriced = findUnpriced(model, asking, used_provider);
      if (unpriced) found.push({ id, agent_id: stored_agent.id, title: title ?? id, unpriced });
    }
    return found;
  }

  return { findUnpriced, findProvider, listUnpriced };
}
