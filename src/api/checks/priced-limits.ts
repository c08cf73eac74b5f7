import type { Warning } from '../../contracts/common.ts';
import type { StoredFallback } from '../../contracts/fallbacks.ts';
import type { Provider } from '../../contracts/providers.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { getAskedModel, isVendor } from '../../domain/definition.ts';
import { type FieldError, unprocessable } from '../../domain/errors.ts';
import { describeUnpriced, limitsDollars, UNPRICED_MODEL, type UnpricedModel } from '../../domain/unpriced.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { FindModelPrice } from '../ports.ts';

/** What decides whether a workflow limits dollars, and which model its runs ask. */
interface LimitedWorkflow {
  agent_id: string;
  model?: string | null | undefined;
  budget?: { max_cost_usd?: number | null | undefined } | null | undefined;
}

/** The choice of models by an agent. */
interface AskingAgent {
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
type Changed =
  | { agent: AskingAgent & { id?: string | undefined }; provider?: undefined }
  | { provider: Partial<Provider>; agent?: undefined };

export type LimitChecks = ReturnType<typeof createLimitChecks>;

/** Creates the checks that a limit in dollars can hold: it needs a price of the model that the run asks. */
export function createLimitChecks({
  store,
  findModelPrice,
}: {
  store: Pick<Store, 'agents' | 'providers' | 'workflows'>;
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
    if (own) return own;
    const lister = agent.fallbacks?.length ? agent : provider;
    const listed_by = lister === agent ? null : (agent.provider_id ?? null);
    const fallbacks = lister?.fallbacks ?? [];
    for (const [index, fallback] of fallbacks.entries()) {
      const other = fallback.provider_id === null ? provider : await find(fallback.provider_id);
      // Runs pass over a fallback that is missing or keeps conversations.
      if (fallback.provider_id !== null && (!other || isVendor(other))) continue;
      const unpriced = findUnpricedAt(fallback.model, other);
      if (unpriced) return { ...unpriced, fallback: { listed_by, index } };
    }
    return null;
  }

  /** Returns why a workflow's limit in dollars cannot hold; null if it can, or if there is none. `agent`: one that is not stored. */
  async function findLimitError({ agent_id, model, budget }: LimitedWorkflow, agent?: AskingAgent): Promise<FieldError | null> {
    if (!limitsDollars(budget)) return null;
    const asking = agent ?? (isUuid(agent_id) ? await store.agents.find(agent_id) : null);
    const unpriced = asking && (await findUnpriced(model, asking));
    return unpriced && { path: 'budget.max_cost_usd', message: describeUnpriced(unpriced) };
  }

  /** Lists the caller's workflows with a model without a price, as names for a sentence. */
  async function listUnpriced(caller: Caller, { agent, provider }: Partial<Changed>, limited: boolean, workflow_id?: string) {
    const selection = { agent_id: agent?.id, provider_id: provider?.id, workflow_id };
    const workflows = await store.workflows.listAskingModels({ owner: caller.key, limited, ...selection });
    const providers = new Map<string, Promise<Provider | null>>();
    const findOnce = async (provider_id: string | null | undefined): Promise<Provider | null> => {
      if (!provider_id) return null;
      const stored = providers.get(provider_id) ?? findProvider(provider_id);
      providers.set(provider_id, stored);
      return provider_id === provider?.id ? ({ ...(await stored), ...provider } as Provider) : stored;
    };
    const found: { title: string; unpriced: UnpricedPlace }[] = [];
    for (const { id, title, model, agent: stored_agent } of workflows) {
      const unpriced = await findUnpriced(model, { ...stored_agent, ...agent }, findOnce);
      if (unpriced) found.push({ title: title ?? id, unpriced });
    }
    return found;
  }

  return {
    findLimitError,

    /** Throws 422 if a workflow has a limit in dollars that cannot hold. `path`: the field of the request. */
    async refuseLimit(workflow: LimitedWorkflow, { path }: { path?: string } = {}): Promise<void> {
      const error = await findLimitError(workflow);
      if (error) throw unprocessable([{ ...error, ...(path ? { path } : {}) }], UNPRICED_MODEL);
    },

    /**
     * Throws 422 if a change of a workflow sets a limit in dollars that cannot hold. A limit that could not hold before is only
     * warned about, so that the other fields can be changed.
     */
    async checkChange(before: LimitedWorkflow, after: LimitedWorkflow): Promise<Warning[]> {
      const error = await findLimitError(after);
      if (!error) return [];
      const decides = (['agent_id', 'model', 'budget'] as const).some(
        (field) => canonicalJson(before[field] ?? null) !== canonicalJson(after[field] ?? null),
      );
      if (decides) throw unprocessable([error], UNPRICED_MODEL);
      return [toWaitingWarning(error)];
    },

    /** Warns about a workflow's limit in dollars that cannot hold. */
    async listWarnings(workflow: LimitedWorkflow, path?: string): Promise<Warning[]> {
      const error = await findLimitError(workflow);
      return error ? [toWaitingWarning({ ...error, ...(path ? { path } : {}) })] : [];
    },

    /** Warns about the caller's workflows whose limit in dollars cannot hold with a changed agent or provider. */
    async listBrokenLimits(changed: Changed, caller: Caller): Promise<Warning[]> {
      const { id } = changed.agent ?? changed.provider;
      const broken = id === undefined ? [] : await listUnpriced(caller, changed, true);
      const [listed_by, field] = changed.agent ? ([null, 'model'] as const) : ([id, 'price_table'] as const);
      return nameFirst(broken).map(({ title, unpriced: { fallback, ...unpriced } }) => ({
        path: fallback && fallback.listed_by === listed_by ? `fallbacks.${fallback.index}` : field,
        message: `The budget of your workflow ${title} limits dollars: ${describeUnpriced(unpriced)}. ${RUNS_WAIT}`,
      }));
    },

    /** Throws 422 if an alert watches the spending of a workflow whose model has no price; of all workflows, only warns. */
    async checkSpendAlert(
      { measure, workflow_id }: { measure: string; workflow_id: string | null },
      caller: Caller,
    ): Promise<Warning[]> {
      if (measure !== 'spend') return [];
      const unpriced = await listUnpriced(caller, {}, false, workflow_id ?? undefined);
      const [first] = unpriced;
      if (first && workflow_id)
        throw unprocessable([{ path: 'workflow_id', message: describeUncounted(first.unpriced) }], UNPRICED_MODEL);
      return nameFirst(unpriced).map(({ title, unpriced }) => ({
        path: 'measure',
        message: `What your workflow ${title} costs is not counted. ${describeUncounted(unpriced)}`,
      }));
    },
  };
}

const RUNS_WAIT = 'Its runs wait or halt before they ask the model';

const toWaitingWarning = ({ path, message }: FieldError): Warning => ({ path, message: `${message}. ${RUNS_WAIT}` });

/** The most workflows that are named in warnings. */
const MOST_NAMED = 10;
const nameFirst = <T>(found: readonly T[]): T[] => found.slice(0, MOST_NAMED);

/** Returns the sentence about an alert that cannot know what a model costs, with what to do. */
function describeUncounted({ model, provider }: UnpricedModel): string {
  if (provider === null)
    return 'No price is known for models of the default runtime, so nobody can measure what its runs spend. Give the agent a provider with a price in its `price_table`';
  const asked = model === null ? 'the default model' : `the model ${model}`;
  return `No price is known for ${asked} of the provider ${provider}, so nobody can measure what its runs spend. Set its price in the provider's \`price_table\``;
}
