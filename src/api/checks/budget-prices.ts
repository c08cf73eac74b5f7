import type { PeriodBudget } from '../../contracts/budgets.ts';
import type { Warning } from '../../contracts/common.ts';
import { type FieldError, unprocessable } from '../../domain/errors.ts';
import { describeUnpriced, UNPRICED_MODEL, type UnpricedModel } from '../../domain/unpriced.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { DollarBudget } from '../../store/resources/budgets.ts';
import type { Changed, PriceFinder } from './model-prices.ts';

type LimitedBudget = Pick<PeriodBudget, 'scope' | 'subject_id' | 'limit_usd'> & { owner: string | null };

/** A workflow as it decides which model its runs ask. */
interface AskingWorkflow {
  id?: string | undefined;
  agent_id: string;
  model?: string | null | undefined;
}

/** What runs ask a model without a price. Undefined ids: not saved yet. */
interface Affected {
  agent_id?: string | undefined;
  workflow_id?: string | undefined;
  unpriced: UnpricedModel;
}

const LIMITS = { dollars: 'limit_usd', tokens: 'limit_tokens' };
const describe = (unpriced: UnpricedModel) => describeUnpriced(unpriced, LIMITS);

/** The most models or budgets that are named in warnings. */
const MOST_NAMED = 10;

/** The most agents whose models are looked at. */
const MOST_AGENTS = 1_000;

/** Creates the checks that budgets in dollars can count what they limit: the models need a price. */
export function createBudgetChecks({
  store,
  prices,
}: {
  store: Pick<Store, 'agents' | 'workflows' | 'scheduledAgents' | 'budgets'>;
  prices: PriceFinder;
}) {
  async function findOfWorkflow({ agent_id, model }: AskingWorkflow): Promise<UnpricedModel | null> {
    const agent = isUuid(agent_id) ? await store.agents.find(agent_id) : null;
    return agent && prices.findUnpriced(model, agent);
  }

  /** Returns the workflow that a budget of a workflow or schedule limits. */
  async function findWorkflow({
    scope,
    subject_id,
  }: Pick<LimitedBudget, 'scope' | 'subject_id'>): Promise<AskingWorkflow | null> {
    const id = scope === 'schedule' ? (await store.scheduledAgents.find(subject_id!))?.workflow_id : subject_id;
    return id ? store.workflows.find(id) : null;
  }

  /** Returns the model without a price that all that the budget limits would ask. */
  async function findLimited(budget: LimitedBudget): Promise<UnpricedModel | null> {
    if (budget.scope === 'agent') {
      const agent = await store.agents.find(budget.subject_id!);
      return agent && prices.findUnpriced(null, agent);
    }
    const workflow = budget.scope === 'workflow' || budget.scope === 'schedule' ? await findWorkflow(budget) : null;
    return workflow && findOfWorkflow(workflow);
  }

  /** Lists models without a price that the budget would have to count, of what the caller may see. */
  async function listAsked({ scope, subject_id, owner }: LimitedBudget, caller: Caller): Promise<UnpricedModel[]> {
    if (scope === 'workflow' || scope === 'schedule') return [];
    if (scope === 'agent') {
      const agent = await store.agents.find(subject_id!);
      return agent ? (await prices.listUnpriced(caller, { agent })).map(({ unpriced }) => unpriced) : [];
    }
    if (scope !== 'installation' && owner !== caller.key) return [];
    const own = (await prices.listUnpriced(caller, {})).map(({ unpriced }) => unpriced);
    return scope === 'installation' ? [...own, ...(await listOfAgents())] : own;
  }

  async function listOfAgents(): Promise<UnpricedModel[]> {
    const { items } = await store.agents.list({ limit: MOST_AGENTS });
    const find = prices.findEachOnce();
    const found: UnpricedModel[] = [];
    for (const agent of items) {
      const unpriced = await prices.findUnpriced(null, agent, find);
      if (unpriced) found.push(unpriced);
    }
    return found;
  }

  /** Warns about the budgets in dollars, of those that the caller may see, that cannot count these runs. */
  async function listUncounted(affected: readonly Affected[], path: string, caller: Caller): Promise<Warning[]> {
    if (affected.length === 0) return [];
    const found: { budget: DollarBudget; unpriced: UnpricedModel }[] = [];
    for (const budget of await store.budgets.listDollar(caller.key)) {
      const match = await findMatch(budget, affected);
      if (match) found.push({ budget, unpriced: match.unpriced });
    }
    return found.slice(0, MOST_NAMED).map(({ budget: { name }, unpriced }) => ({
      path,
      message: `The budget ${name} limits dollars: ${describe(unpriced)}. Runs that count in it wait before they ask the model`,
    }));
  }

  async function findMatch({ scope, subject_id }: DollarBudget, affected: readonly Affected[]): Promise<Affected | undefined> {
    if (scope === 'agent') return affected.find(({ agent_id }) => agent_id === subject_id);
    if (scope === 'workflow') return affected.find(({ workflow_id }) => workflow_id === subject_id);
    if (scope !== 'schedule') return affected[0];
    const workflow_id = (await store.scheduledAgents.find(subject_id!))?.workflow_id;
    return affected.find((one) => one.workflow_id !== undefined && one.workflow_id === workflow_id);
  }

  return {
    /**
     * Warns about models without a price that a budget in dollars would have to count. `refuses`: throws 422 if it is all that the
     * budget limits.
     */
    async checkBudget(budget: LimitedBudget, caller: Caller, { refuses }: { refuses: boolean }): Promise<Warning[]> {
      if (budget.limit_usd === null) return [];
      const limited = await findLimited(budget);
      const error: FieldError | null = limited && { path: 'limit_usd', message: describe(limited) };
      if (error && refuses) throw unprocessable([error], UNPRICED_MODEL);
      const messages = [...(limited ? [limited] : []), ...(await listAsked(budget, caller))].map(describe);
      return [...new Set(messages)]
        .slice(0, MOST_NAMED)
        .map((message) => ({ path: 'limit_usd', message: `${message}. Runs that ask it wait before they do` }));
    },

    /** Warns about budgets in dollars that cannot count the runs of a workflow. `path`: the field of the request. */
    async listOfWorkflow(workflow: AskingWorkflow, caller: Caller, path = 'model'): Promise<Warning[]> {
      const unpriced = await findOfWorkflow(workflow);
      const { id: workflow_id, agent_id } = workflow;
      return unpriced ? listUncounted([{ agent_id, workflow_id, unpriced }], path, caller) : [];
    },

    /** Warns about budgets in dollars that cannot count what asks a changed agent or provider: the agent, and workflows of the caller. */
    async listOfChanged({ agent, provider }: Changed, caller: Caller): Promise<Warning[]> {
      const changed_id = (agent ?? provider).id;
      const workflows = changed_id ? await prices.listUnpriced(caller, agent ? { agent } : { provider }) : [];
      const of_agent = agent && (await prices.findUnpriced(null, agent));
      const affected = [
        ...(of_agent ? [{ agent_id: agent.id, unpriced: of_agent }] : []),
        ...workflows.map(({ id, agent_id, unpriced }) => ({ workflow_id: id, agent_id, unpriced })),
      ];
      return listUncounted(affected, agent ? 'model' : 'price_table', caller);
    },
  };
}
