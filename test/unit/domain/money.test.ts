import { describe, expect, it } from 'vitest';
import { type BudgetLimits, findExhaustedLimit } from '../../../src/domain/budget.ts';
import { addUsage, calculateCost, MOST_COUNTED, NO_USAGE, sumTokens } from '../../../src/domain/usage.ts';

const limits = (more: Partial<BudgetLimits>): BudgetLimits => ({
  ...{ max_cost_usd: null, max_tokens: null, max_seconds: null, on_exhausted: 'wait' },
  ...more,
});
const used = (cost: number, tokens = 0, seconds = 0) => ({ cost, tokens, seconds });
const dollars = (max: number, spent: number, next: number) =>
  `The budget of ${max} US dollars is used up: ${spent} are spent and the next call costs about ${next}`;

describe('a budget', () => {
  it.each<[string, BudgetLimits | null, ReturnType<typeof used>, ReturnType<typeof used>, string | null]>([
    ['none', null, used(99, 99, 99), used(99, 99, 99), null],
    ['without limits', limits({}), used(99, 99, 99), used(99, 99, 99), null],
    ['tokens that just suffice', limits({ max_tokens: 10 }), used(9, 6), used(9, 4), null],
    [
      'tokens that do not suffice',
      limits({ max_tokens: 10 }),
      used(0, 6),
      used(0, 5),
      'The budget of 10 tokens is used up: 6 are spent and the next call needs about 5',
    ],
    ['dollars that just suffice', limits({ max_cost_usd: 1 }), used(0.5), used(0.5), null],
    ['dollars that do not suffice', limits({ max_cost_usd: 1 }), used(0.5), used(0.51), dollars(1, 0.5, 0.51)],
    [
      'dollars that are spent, with a next call that costs nothing',
      limits({ max_cost_usd: 1 }),
      used(1),
      used(0),
      dollars(1, 1, 0),
    ],
    ['dollars in three digits', limits({ max_cost_usd: 1 }), used(0.123456), used(2.34567), dollars(1, 0.123, 2.35)],
    ['seconds that are left', limits({ max_seconds: 60 }), used(9, 9, 59.9), used(9, 9, 9), null],
    [
      'seconds that are used',
      limits({ max_seconds: 60 }),
      used(0, 0, 60.4),
      used(0),
      'The budget of 60 seconds is used up: the run has taken 60',
    ],
    [
      'the exact second',
      limits({ max_seconds: 60 }),
      used(0, 0, 60),
      used(0),
      'The budget of 60 seconds is used up: the run has taken 60',
    ],
  ])('%s', (_, budget, spent, next, reason) => {
    expect(findExhaustedLimit(budget, spent, next)).toBe(reason);
  });

  it('of tokens is exhausted by a count that has reached its end', () => {
    const tokens = sumTokens({ total_in: MOST_COUNTED, total_out: 0 });
    expect(findExhaustedLimit(limits({ max_tokens: MOST_COUNTED * 1_000 }), { cost: 0, tokens, seconds: 0 }, used(0, 1))).toBe(
      'The budget of 2147483647000 tokens is used up: more than can be counted are spent and the next call needs about 1',
    );
    expect(sumTokens({ total_in: MOST_COUNTED - 1, total_out: MOST_COUNTED - 1 })).toBe(2 * (MOST_COUNTED - 1));
  });
});

describe('a price', () => {
  const usage = (total_in: number, total_out: number, cache_read = 0, cache_write = 0) => ({
    total_in,
    total_out,
    cache_read,
    cache_write,
  });
  const price = { input: 2, output: 10 };
  const cached = { ...price, cache_read: 0.5, cache_write: 4 };

  it.each<[string, ReturnType<typeof usage>, string | null, Parameters<typeof calculateCost>[2], number]>([
    ['of tokens read and written', usage(1_000_000, 100_000), 'm', { m: price }, 3],
    ['of a model that is not in the table', usage(1_000_000, 0), 'x', { m: price }, 0],
    ['of no model', usage(1_000_000, 0), null, { m: price }, 0],
    ['of every other model', usage(1_000_000, 0), 'x', { m: price, '*': { input: 7, output: 1 } }, 7],
    ['of no model, by the price of every other', usage(1_000_000, 0), null, { '*': { input: 7, output: 1 } }, 7],
    ['of the model before that of every other', usage(1_000_000, 0), 'm', { m: price, '*': { input: 7, output: 1 } }, 2],
    ['of tokens from the cache', usage(1_000_000, 0, 400_000, 100_000), 'm', { m: cached }, 1 + 0.2 + 0.4],
    ['of tokens from the cache, without prices for it', usage(1_000_000, 0, 400_000, 100_000), 'm', { m: price }, 2],
    ['of more from the cache than was read', usage(100_000, 0, 400_000, 0), 'm', { m: cached }, 0.2],
    ['of a table with a price below zero', usage(1_000_000, 0), 'm', { m: { input: -1, output: 0 } }, 0],
    ['of a table with no number', usage(1_000_000, 0), 'm', { m: { input: Number.NaN, output: 0 } }, 0],
    ['of a table without end', usage(1_000_000, 0), 'm', { m: { input: Number.POSITIVE_INFINITY, output: 0 } }, 0],
  ])('%s', (_, exchange, model, prices, cost) => {
    expect(calculateCost(exchange, [model], prices)).toBeCloseTo(cost, 10);
  });

  it('adds up what was used', () => {
    const one = { total_in: 1, total_out: 2, cache_read: 3, cache_write: 4, cost: 5, premium_requests: 6 };
    const two = { total_in: 10, total_out: 20, cache_read: 30, cache_write: 40, cost: 50, premium_requests: 60 };
    expect(addUsage(one, two)).toEqual({
      ...{ total_in: 11, total_out: 22, cache_read: 33, cache_write: 44, cost: 55, premium_requests: 66 },
    });
    expect(addUsage(NO_USAGE, one)).toEqual(one);
  });
});
