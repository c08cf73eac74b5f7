import { describe, expect, it } from 'vitest';
import { isSameModel } from '../../../src/domain/model-names.ts';
import { describeUnpriced, findUnpricedModel, limitsDollars } from '../../../src/domain/unpriced.ts';
import { findPrice } from '../../../src/domain/usage.ts';
import { findModelPrice, getPrices } from '../../../src/runtimes/prices.ts';

describe('the model of an answer', () => {
  it.each([
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['gpt-4-0613', 'gpt-4'],
    ['claude-3-5-haiku-20241022', 'claude-3-5-haiku-latest'],
    ['mistral-large-2411', 'mistral-large-latest'],
    ['gemini-2.5-flash-preview-05-20', 'models/gemini-2.5-flash'],
    ['openai/GPT-4o', 'gpt-4o'],
    ['llama3:latest', 'llama3'],
    ['auto', 'auto'],
  ])('%s is the %s that was asked for', (reported, asked) => {
    expect(isSameModel(reported, asked)).toBe(true);
  });

  it.each([
    ['gpt-5-pro', 'gpt-5'],
    ['gpt-4o-mini', 'gpt-4o'],
    ['claude-opus-4-1-20250805', 'claude-opus-4'],
    ['gpt-4o', 'gpt-4o-2024-08-06'],
    ['gpt-4oo', 'gpt-4o'],
    ['large', 'auto'],
  ])('%s is another than %s', (reported, asked) => {
    expect(isSameModel(reported, asked)).toBe(false);
  });
});

describe('the price of an answer', () => {
  const prices = { auto: { input: 3, output: 5 }, large: { input: 7, output: 11 } };

  it('is that of the model that answered, and not that of the one that was asked for', () => {
    expect(findPrice(['large', 'auto'], prices)).toBe(prices.large);
    expect(findPrice(['huge', 'auto'], prices)).toBeUndefined();
    expect(findPrice(['auto-2026-01-31', 'auto'], prices)).toBe(prices.auto);
    expect(findPrice([null, 'auto'], prices)).toBe(prices.auto);
  });

  it('is that of every other model if the table has one', () => {
    const others = { input: 13, output: 17 };
    expect(findPrice(['huge', 'auto'], { ...prices, '*': others })).toBe(others);
  });
});

describe('the prices of a provider', () => {
  const vendor = { provider_type: 'openai', base_url: null, price_table: {} };
  const own = { input: 19, output: 23 };

  it('are its own, and the vendor’s list prices for what its table does not name', () => {
    const provider = { ...vendor, price_table: { 'gpt-4o': own } };
    expect(findModelPrice(provider, 'gpt-4o')).toEqual({ price: own, price_source: 'provider' });
    expect(findModelPrice(provider, 'gpt-4o-mini')).toMatchObject({ price_source: 'catalogue' });
    expect(findModelPrice({ ...vendor, price_table: { '*': own } }, 'gpt-4o-mini')).toEqual({
      price: own,
      price_source: 'provider',
    });
  });

  it('are unknown at another address, for an unknown model, and for the default runtime', () => {
    expect(findModelPrice({ ...vendor, base_url: 'https://gateway.example/v1' }, 'gpt-4o')).toBeNull();
    expect(findModelPrice(vendor, 'gpt-4o-unknown')).toBeNull();
    expect(findModelPrice(vendor, null)).toBeNull();
    expect(findModelPrice(null, 'gpt-4o')).toBeNull();
  });

  it('are those of its deployment for whatever that reports', () => {
    const azure = {
      provider_type: 'azure_openai',
      base_url: 'https://a.example',
      azure_deployment: 'ours',
      price_table: { ours: own },
    };
    expect(findPrice(['gpt-4o-2024-08-06', 'ours'], getPrices(azure))).toBe(own);
    expect(findPrice(['gpt-4o-2024-08-06', 'ours'], getPrices({ ...azure, azure_deployment: null }))).toBeUndefined();
  });
});

describe('a limit in dollars', () => {
  const provider = { id: 'p', name: 'Gateway', default_model: 'small', price_table: {}, provider_type: 'openai_compatible' };
  const definition = { model: null, provider: { ...provider, base_url: 'http://here', azure_deployment: null } as never };
  const find = (present: object | null) =>
    findUnpricedModel(definition, { findModelPrice, findProvider: async () => present as never });

  it('can hold if the provider has got a price since the run was pinned to it', async () => {
    const priced = { ...(definition.provider as object), price_table: { small: { input: 1, output: 2 } } };
    expect(await find(priced)).toBeNull();
    expect(await find(definition.provider)).toEqual({ model: 'small', provider: 'Gateway' });
    expect(await find(null)).toEqual({ model: 'small', provider: 'Gateway' });
  });

  it('is one only if it is set', () => {
    expect([null, {}, { max_cost_usd: null }, { max_cost_usd: 29 }].map(limitsDollars)).toEqual([false, false, false, true]);
  });

  it('names the model, where it is, and the two ways out', () => {
    expect(describeUnpriced({ model: null, provider: 'Gateway' })).toBe(
      'No price is known for the default model of the provider Gateway, so a limit in dollars cannot hold. Set a price for `*` in the ' +
        "provider's `price_table`, or limit tokens with `max_tokens` instead of `max_cost_usd`",
    );
    expect(describeUnpriced({ model: 'large', provider: null })).toContain('the model large of the default runtime');
  });
});
