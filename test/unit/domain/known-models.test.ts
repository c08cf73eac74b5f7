import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { ModelCatalogue } from '../../../src/contracts/model-catalogue.ts';
import {
  chooseModel,
  findKnownModel,
  getListPrices,
  isNearEnd,
  type KnownModel,
  listKnownModels,
  newestDay,
  replaceKnownModels,
  SHIPPED_MODELS,
} from '../../../src/domain/known-models.ts';
import { presetsWithModels } from '../../../src/domain/provider-presets.ts';
import { calculateCost } from '../../../src/domain/usage.ts';
import { knownModel as model } from '../../support/known-model.ts';

afterEach(() => replaceKnownModels(SHIPPED_MODELS));

const use = (...models: Partial<KnownModel>[]) => replaceKnownModels(models.map(model));

describe('the name of a model', () => {
  it('may have the address of a gateway before it and the date of a snapshot after it', () => {
    use({ id: 'm-7', aliases: ['m-latest'] });
    const known = findKnownModel('m-7');
    expect(known?.id).toBe('m-7');
    const spellings = ['M-7', 'm-latest', 'vendor/m-7', 'models/m-7', 'm-7-2031-07-13', 'm-7-20310713', 'm-7@20310713'];
    expect(spellings.filter((name) => findKnownModel(name) !== known)).toEqual([]);
  });

  it('is another one if it is longer or shorter', () => {
    use({ id: 'm-7' });
    const others = ['m-7-pro', 'm-7-mini', 'm-7.1', 'm-7:free', 'm-7-2031', 'm-7-2031-07-13-b', 'm-', 'm', '', 'xm-7'];
    expect(others.filter((name) => findKnownModel(name))).toEqual([]);
  });

  it('leads to the entry of a snapshot if it has one', () => {
    use({ id: 'm-7', context_window: 7_919 }, { id: 'm-7-2031-07-13', context_window: 104_729 });
    expect(findKnownModel('m-7-2031-07-13')?.context_window).toBe(104_729);
    expect(findKnownModel('m-7-2032-07-13')?.context_window).toBe(7_919);
  });

  it('leads to the model of the vendor that is meant', () => {
    use({ id: 'm-7', vendor: 'openai', context_window: 7_919 }, { id: 'm-7', vendor: 'mistral', context_window: 104_729 });
    expect(findKnownModel('m-7')?.context_window).toBe(7_919);
    expect(findKnownModel('m-7', 'mistral')?.context_window).toBe(104_729);
    expect(findKnownModel('m-7', 'google')).toBeNull();
    expect(listKnownModels('mistral').map(({ vendor }) => vendor)).toEqual(['mistral']);
  });
});

describe('a list price', () => {
  it('counts for listed names only', () => {
    use({ id: 'm-7', aliases: ['m-7-2031-07-13'], price: { input: 3, output: 5 } }, { id: 'm-7-2032-07-13', price: null });
    expect(getListPrices('openai')).toEqual({ 'm-7': { input: 3, output: 5 }, 'm-7-2031-07-13': { input: 3, output: 5 } });
    expect(getListPrices('mistral')).toEqual({});
  });

  it('counts for the names that Gemini lists', () => {
    use({ id: 'm-7', vendor: 'google', price: { input: 3, output: 5 } });
    expect(Object.keys(getListPrices('google'))).toEqual(['m-7', 'models/m-7']);
  });

  it('may be higher for a whole request with a long input', () => {
    const prices = { m: { input: 3, output: 5, above: { tokens: 1_000, input: 7, output: 11, cache_read: 2 } } };
    const cost = (total_in: number) =>
      calculateCost({ total_in, total_out: 13, cache_read: 100, cache_write: 0 }, ['m'], prices) * 1_000_000;
    expect(cost(1_000)).toBeCloseTo(3 * 1_000 + 5 * 13);
    expect(cost(1_001)).toBeCloseTo(7 * 901 + 2 * 100 + 11 * 13);
  });
});

describe('the end of a model', () => {
  it.each([
    ['2031-03-02', true],
    ['2031-03-01', false],
    ['2031-04-30', true],
    ['2031-05-02', true],
  ])('on 2031-05-01 is near on %s: %s', (today, near) => {
    expect(isNearEnd({ ends_on: '2031-05-01' }, today)).toBe(near);
  });

  it('is not near if nobody knows it', () => {
    expect(isNearEnd({ ends_on: null }, '2031-05-01')).toBe(false);
  });
});

describe('the model to begin with', () => {
  const today = '2031-05-01';
  const suitable = { tools: true, structured_output: true, context_window: 100_000, price: { input: 3, output: 5 } };

  it('is the cheapest of the newest generation', () => {
    const cheap = { input: 1, output: 2 };
    use(
      { ...suitable, id: 'm-9.1-large' },
      { ...suitable, id: 'm-9-small', price: cheap },
      { ...suitable, id: 'm-8', price: { input: 0.1, output: 0.1 } },
    );
    expect(chooseModel('openai', today)).toBe('m-9-small');
    expect(chooseModel('mistral', today)).toBeNull();
  });

  it.each([
    ['has no price', { price: null }],
    ['calls no tools', { tools: false }],
    ['keeps to no schema', { structured_output: null }],
    ['reads little', { context_window: 99_999 }],
    ['reads nobody knows how much', { context_window: null }],
    ['ends soon', { ends_on: '2031-06-30' }],
    ['is deprecated', { deprecated_on: '2031-01-01' }],
    ['is a preview', { id: 'm-9-preview' }],
  ])('is none that %s', (_, facts) => {
    use({ ...suitable, id: 'm-9', ...facts }, { ...suitable, id: 'm-8' });
    expect(chooseModel('openai', today)).toBe('m-8');
  });
});

it('a preset has no model to begin with if the catalogue has none that suits', () => {
  const examples = (chosen: string | null) =>
    presetsWithModels(() => chosen).flatMap(({ id, model_example }) => (id === 'gemini' ? [model_example] : []));
  expect([examples('m-7'), examples(null)]).toEqual([['m-7'], ['']]);
});

describe('the catalogue in the repository', () => {
  it('has a model to begin with for every vendor whose own endpoint is preset', () => {
    const today = newestDay(SHIPPED_MODELS);
    const chosen = ['openai', 'anthropic', 'google', 'mistral'].map((vendor) => chooseModel(vendor, today));
    expect(chosen).not.toContain(null);
  });

  it('is at most 60 days older than the release that carries it', () => {
    const changelog = readFileSync(new URL('../../../CHANGELOG.md', import.meta.url), 'utf8');
    // A version without a date is not released yet.
    const [newest] = changelog.match(/^## \[.*\] - .*$/m)!;
    const released = newest.match(/\d{4}-\d\d-\d\d$/) ?? [];
    const age = (day: string) => (Date.parse(day) - Date.parse(newestDay(SHIPPED_MODELS))) / 86_400_000;
    expect(released.filter((day) => age(day) > 60)).toEqual([]);
  });

  it('is a file that perdura models update takes', () => {
    expect(ModelCatalogue.safeParse({ format: 1, models: SHIPPED_MODELS }).error?.issues).toBeUndefined();
  });

  it('has no two models of one name at one vendor', () => {
    const names = SHIPPED_MODELS.flatMap(({ vendor, id, aliases }) => [id, ...aliases].map((name) => `${vendor} ${name}`));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('gives a longer name its own price or none', () => {
    const prices = getListPrices('openai');
    expect(prices['gpt-5-pro']).not.toEqual(prices['gpt-5']);
    expect(prices['gpt-5-pro-of-tomorrow']).toBeUndefined();
  });
});
