import { afterEach, describe, expect, it } from 'vitest';
import { listFallbackErrors, listFallbackWarnings } from '../../../src/api/checks/fallbacks.ts';
import { createPriceFinder } from '../../../src/api/checks/model-prices.ts';
import { listEffortWarnings } from '../../../src/api/checks/model-warnings.ts';
import { createLimitChecks } from '../../../src/api/checks/priced-limits.ts';
import { replaceKnownModels, SHIPPED_MODELS } from '../../../src/domain/known-models.ts';
import { knownModel } from '../../support/known-model.ts';

const P3 = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be003';
const P5 = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be005';
const P7 = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be007';
const P9 = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be009';
const GONE = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be999';
const provider = (id: string, more: object = {}) => ({
  ...{ id, name: `provider ${id.at(-1)}`, provider_type: 'openai_compatible', base_url: 'http://here', default_model: null },
  ...{ fallbacks: [], azure_deployment: null, api_key_token_name: 'key', ...more },
});
const ALICE = { key: 'local:alice' } as never;

const providers = [
  provider(P3, {
    fallbacks: [
      { on: ['quota'], provider_id: GONE, model: 'large' },
      { on: ['quota'], provider_id: P5, model: 'huge' },
    ],
  }),
  provider(P5),
  provider(P7, { provider_type: 'anthropic', base_url: null, api_key_token_name: null }),
  provider(P9, { provider_type: 'openai', base_url: null }),
];
/** Everything has a price but what is named `huge`, and the default model. */
const store = {
  providers: { find: async (id: string) => providers.find((one) => one.id === id) ?? null },
  agents: { find: async () => null, list: async () => ({ items: [] }) },
  workflows: { find: async () => null, listAskingModels: async () => [{ id: 'w3', title: 'Daily', model: null, agent: AGENT }] },
  scheduledAgents: { find: async () => null },
  budgets: { listDollar: async () => [] },
} as never;
const AGENT = { id: 'a3', model: null, provider_id: P5 };
const findModelPrice = (at: object | null, model: string | null) =>
  at === null || model === null || model === 'huge' ? null : {};

describe('a model without a price is found', () => {
  const { findUnpriced } = createPriceFinder({ store, findModelPrice: findModelPrice as never });

  it('among the fallbacks, of which runs pass over those without a provider', async () => {
    const unpriced = { model: 'huge', provider: 'provider 5' };
    expect(await findUnpriced('small', { provider_id: P3 })).toEqual({ ...unpriced, fallback: { listed_by: P3, index: 1 } });
    const own = [
      { on: ['quota'], provider_id: P7, model: 'huge' },
      { on: ['quota'], provider_id: P5, model: 'huge' },
    ] as never;
    expect(await findUnpriced('small', { provider_id: P3, fallbacks: own })).toEqual({
      ...unpriced,
      fallback: { listed_by: null, index: 1 },
    });
    expect(await findUnpriced('small', { provider_id: P5 })).toBeNull();
  });

  it('in the default runtime, and in no provider that does not exist', async () => {
    expect(await findUnpriced('small', {})).toEqual({ model: 'small', provider: null });
    expect(await findUnpriced('small', { provider_id: GONE })).toBeNull();
  });
});

describe('a limit in dollars', () => {
  const checks = createLimitChecks({ store, findModelPrice: findModelPrice as never });
  const limited = (agent_id: string) => ({ agent_id, budget: { max_cost_usd: 7 } });

  it('is not checked over an agent that cannot exist, which is refused for that', async () => {
    expect(await checks.findLimitError(limited('not an id'))).toBeNull();
    expect(await checks.findLimitError(limited(GONE))).toBeNull();
    expect(await checks.findLimitError(limited(GONE), { provider_id: null, model: 'm' })).toMatchObject({
      path: 'budget.max_cost_usd',
    });
    expect(await checks.budgets.listOfWorkflow({ agent_id: 'not an id' }, ALICE)).toEqual([]);
  });

  it('of an alert names the default model of a provider', async () => {
    await expect(checks.checkSpendAlert({ measure: 'spend', workflow_id: 'w3' }, ALICE)).rejects.toThrow(
      'No price is known for the default model of the provider provider 5',
    );
  });

  it.each(['agent', 'workflow', 'schedule'] as const)('of a budget over a deleted %s has nothing to count', async (scope) => {
    const budget = { scope, subject_id: GONE, limit_usd: 7, owner: null };
    expect(await checks.budgets.checkBudget(budget, ALICE, { refuses: true })).toEqual([]);
  });
});

describe('a fallback', () => {
  const of = { provider: providers[1]!, provider_id: P5, model: 'small' } as never as { provider: null };
  const tokens = { listUsableNames: async () => ['key'] };
  const stores = { ...(store as object), tokens } as never;

  it('without a provider is an error unless the record named it before', async () => {
    const fallbacks = [{ on: ['quota'], provider_id: GONE, model: 'large' }] as never;
    const list = (known: never[]) => listFallbackErrors(stores, { ...of, fallbacks } as never, known);
    expect(await list([])).toEqual([{ path: 'fallbacks.0.provider_id', message: `No provider with id ${GONE}` }]);
    expect(await list(fallbacks)).toEqual([]);
  });

  it('at a vendor that keeps conversations is an error, also at the provider itself', async () => {
    const list = (provider_id: string | null, own: object) =>
      listFallbackErrors(stores, { fallbacks: [{ on: ['quota'], provider_id, model: 'x' }], ...own } as never);
    const vendor = { provider: providers[2], provider_id: P7, model: 'small' };
    expect(await list(P7, of)).toMatchObject([{ message: expect.stringMatching(/^The provider provider 7 /) }]);
    expect(await list(null, vendor)).toMatchObject([{ message: expect.stringMatching(/^This provider /) }]);
  });

  it('is warned about if runs pass over it, or ask it without a key or some tools', async () => {
    const tool_definitions = [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'function', function: { name: 'look' } },
    ];
    const warn = async (provider_id: string, tools: object[] = []) =>
      (await listFallbackWarnings(stores, { fallbacks: [{ provider_id }] as never, tool_definitions: tools }, ALICE)).map(
        ({ message }) => message,
      );
    expect(await warn(GONE)).toEqual([`No provider with id ${GONE}: runs pass over this fallback`]);
    expect(await warn(P7)).toEqual(['The provider provider 7 has no key']);
    expect([await warn(P5), await warn(P9)]).toEqual([[], []]);
    expect(await warn(P5, tool_definitions)).toEqual(['The provider provider 5 does not run web_search: it is asked without']);
  });
});

describe('an effort that is not known of a model', () => {
  afterEach(() => replaceKnownModels(SHIPPED_MODELS));
  const warn = (effort: string, efforts: string[], vendor = 'openai') => {
    replaceKnownModels([knownModel({ vendor, efforts })]);
    return listEffortWarnings({ model: 'm-7', provider: null }, effort).map(({ message }) => message.split('; ').at(-1));
  };

  it('is warned about with those that it takes', () => {
    expect(warn('high', ['low', 'medium'])).toEqual(['it takes low, medium']);
    expect(warn('high', [])).toEqual(['it takes no effort']);
    expect(warn('low', ['low'])).toEqual([]);
  });

  it('is sent in another form to Anthropic', () => {
    expect(warn('none', ['low'], 'anthropic')).toEqual([]);
    expect(warn('minimal', ['low'], 'anthropic')).toEqual([]);
    expect(warn('minimal', ['high'], 'anthropic')).toEqual(['it takes high']);
    expect(warn('minimal', ['low'])).toEqual(['it takes low']);
  });
});
