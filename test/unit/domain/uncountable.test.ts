import { describe, expect, it } from 'vitest';
import { explainBlock } from '../../../src/domain/caps.ts';
import { toPlace } from '../../../src/domain/fallback.ts';
import { findUncountable, findUnpricedModel, listOtherProviders } from '../../../src/domain/unpriced.ts';
import { toUsage } from '../../../src/domain/usage.ts';

const OTHER = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be007';
const THIRD = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be011';
const PRICE = { input: 3, output: 5 };
const budget = { max_cost_usd: 29 } as never;

describe('what a run with a limit in dollars costs', () => {
  const definition = { model: 'small', provider: { id: 'p', name: 'Gateway' }, budget: null } as never;
  const prices = { small: PRICE };
  const find = (entry: string, present: [string, object][], pinned = definition) =>
    findUncountable({ budget, unpriced_models: [entry] }, pinned, { prices, others: new Map(present) as never });

  it('is unknown while another provider that answered it has no price, or was deleted', () => {
    const entry = `${OTHER} large`;
    expect(find(entry, [[OTHER, { name: 'Office', prices: {} }]])).toEqual({ model: 'large', provider: 'Office' });
    expect(find(entry, [])).toEqual({ model: 'large', provider: 'that was deleted' });
    expect(find(entry, [[OTHER, { name: 'Office', prices: { large: PRICE } }]])).toBeNull();
  });

  it('counts an answer by the price of the fallback that was asked for it', () => {
    const present: [string, object][] = [[OTHER, { name: 'Office', prices: { 'large-latest': PRICE } }]];
    const fallbacks = [{ model: 'large-latest' }];
    const pinned = { ...(definition as object), fallbacks } as never;
    expect(find(`${OTHER} large-2411`, present)).toEqual({ model: 'large-2411', provider: 'Office' });
    expect(find(`${OTHER} large-2411`, present, pinned)).toBeNull();
  });

  it('is unknown of the default runtime', () => {
    const pinned = { model: null, provider: null, budget } as never;
    expect(findUncountable({ budget: null }, pinned, { prices: {} })).toEqual({ model: null, provider: null });
  });

  it('depends on the other providers that answered, each once', () => {
    const unpriced_models = ['small', `${OTHER} large`, `${THIRD} huge`, `${OTHER} tiny`];
    expect(listOtherProviders({ budget, unpriced_models }, THIRD)).toEqual([OTHER]);
    expect(listOtherProviders({ budget, unpriced_models }, undefined)).toEqual([OTHER, THIRD]);
  });
});

describe('a limit in dollars names a model without a price', () => {
  const find = (definition: object, answered: string[], priced: string[]) =>
    findUnpricedModel(
      definition as never,
      {
        findModelPrice: (_, model) => (model !== null && priced.includes(model) ? PRICE : null),
        findProvider: async () => null,
      },
      answered,
    );

  it('of the default runtime', async () => {
    expect(await find({ model: 'small', provider: null }, [], [])).toEqual({ model: 'small', provider: null });
    expect(await find({ model: 'small', provider: null }, [], ['small'])).toBeNull();
  });

  it('that a provider answered with which the run no longer asks', async () => {
    const definition = { model: 'small', provider: { id: THIRD, name: 'Gateway', default_model: null } };
    expect(await find(definition, [`${OTHER} large`], ['small'])).toEqual({ model: 'large', provider: null });
    expect(await find(definition, [`${THIRD} large`], ['small'])).toEqual({ model: 'large', provider: 'Gateway' });
  });
});

describe('a budget in dollars that cannot count a model', () => {
  const cap = { name: 'Team', reason: 'unpriced', unit: 'usd', limit: 7, spent: 3, reserved: 2, least: null, ends_at: 'x' };
  const explain = (called: object) => explainBlock(cap as never, called as never, 'the default model');

  it('names it: the one that is asked, one that answered, or the default model', () => {
    const named = (model: string) => expect.stringContaining(`cannot count the model ${model}, which has no price`);
    expect(explain({ asked: 'small', answered: [], prices: {} })).toEqual(named('small'));
    expect(explain({ asked: 'small', answered: ['large'], prices: { small: PRICE } })).toEqual(named('large'));
    expect(explain({ asked: null, answered: [], prices: {} })).toEqual(named('the default model'));
  });
});

it('an answer of a model without a name and without a price is one of the default model', () => {
  const usage = { total_in: 11, total_out: 7, cache_read: 0, cache_write: 0 } as never;
  const name = (model: string | null, asked: string | null) =>
    toUsage({ model, usage } as never, { asked, prices: {} } as never).unpriced_models;
  expect([name(null, null), name(null, 'small'), name('large', 'small')]).toEqual([['default model'], ['small'], ['large']]);
});

it('a place without a provider is the default runtime', () => {
  expect(toPlace({ provider: null, model: 'small' })).toEqual({ provider_id: null, provider: null, model: 'small' });
  const provider = { id: 'p', name: 'Gateway' } as never;
  expect(toPlace({ provider, model: null })).toEqual({ provider_id: 'p', provider: 'Gateway', model: null });
});
