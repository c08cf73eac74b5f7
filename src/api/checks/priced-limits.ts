import type { Warning } from '../../contracts/common.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { type FieldError, unprocessable } from '../../domain/errors.ts';
import { describeUnpriced, limitsDollars, UNPRICED_MODEL, type UnpricedModel } from '../../domain/unpriced.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { FindModelPrice } from '../ports.ts';
import { createBudgetChecks } from './budget-prices.ts';
import { type AskingAgent, type Changed, createPriceFinder } from './model-prices.ts';

/** What decides whether a workflow limits dollars, and which model its runs ask. */
interface LimitedWorkflow {
  agent_id: string;
  model?: string | null | undefined;
  budget?: { max_cost_usd?: number | null | undefined } | null | undefined;
}

export type LimitChecks = ReturnType<typeof createLimitChecks>;

/** Creates the checks that a limit in dollars can hold: it needs a price of the model that the run asks. */
export function createLimitChecks({
  store,
  findModelPrice,
}: {
  store: Pick<Store, 'agents' | 'providers' | 'workflows' | 'scheduledAgents' | 'budgets'>;
  findModelPrice: FindModelPrice;
}) {
  const prices = createPriceFinder({ store, findModelPrice });
  const { findUnpriced, listUnpriced } = prices;
  const budgets = createBudgetChecks({ store, prices });

  /** Returns why a workflow's limit in dollars cannot hold; null if it can, or if there is none. `agent`: one that is not stored. */
  async function findLimitError({ agent_id, model, budget }: LimitedWorkflow, agent?: AskingAgent): Promise<FieldError | null> {
    if (!limitsDollars(budget)) return null;
    const asking = agent ?? (isUuid(agent_id) ? await store.agents.find(agent_id) : null);
    const unpriced = asking && (await findUnpriced(model, asking));
    return unpriced && { path: 'budget.max_cost_usd', message: describeUnpriced(unpriced) };
  }

  return {
    findLimitError,
    budgets,

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
      const broken = id === undefined ? [] : await listUnpriced(caller, changed, { limited: true });
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
      const unpriced = await listUnpriced(caller, {}, { workflow_id: workflow_id ?? undefined });
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
