import { describe, expect, it } from 'vitest';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import { askWithinBudgets } from '../../src/main/wiring/chat-budgets.ts';

describe('a chat within budgets', () => {
  const usage = { total_in: 11, total_out: 7, cache_read: 0, cache_write: 0 };
  const answer = { model: 'small', usage };
  /** Asks within a budget of which the call is reserved. Returns what was spent of it, and what was released. */
  async function ask(fails: Error | null, stopped = false) {
    const spent: object[] = [];
    const released: unknown[] = [];
    const broken_off: object[] = [];
    const stopping = new AbortController();
    const runtime = {
      async exchange() {
        if (stopped) stopping.abort();
        if (fails) throw fails;
        return { reply: { text: 'Hello.', ...answer } };
      },
    };
    const caps = {
      hold: async (reserve: (id: string) => Promise<object>) => ({ reservation: 'r7', answer: await reserve('r7') }),
      release: async (reservation: unknown) => void released.push(reservation),
    };
    const store = {
      reserveForChat: async () => ({ warnings: [] }),
      spendForChat: async (_: unknown, use: object) => void spent.push(use),
    };
    const prices = { small: { input: 3, output: 5 } };
    const asking = askWithinBudgets(
      runtime as never,
      { caps, store } as never,
      { payer: {}, prices, reportBrokenOff: (it: object) => void broken_off.push(it) } as never,
    );
    const exchange = { model: 'small', instructions: '', transcript: [], tools: [] };
    const failure = await asking(exchange as never, () => {}, stopping.signal).then(
      () => null,
      (error: Error) => error.message,
    );
    return { failure, spent, released, broken_off };
  }
  const cost = (11 * 3 + 7 * 5) / 1_000_000;

  it('spends what the model reports, also if its answer fails', async () => {
    const paid = { reservation: 'r7', cost: expect.closeTo(cost, 12), tokens: 18 };
    expect(await ask(null)).toEqual({ failure: null, spent: [paid], released: ['r7'], broken_off: [] });
    const filtered = new ModelFailure('filtered', { code: 'content_filter', recoverable: false, answer: answer as never });
    expect(await ask(filtered)).toEqual({ failure: 'filtered', spent: [paid], released: ['r7'], broken_off: [] });
  });

  it('spends nothing if the model did not answer, and what was asked if the person stops it', async () => {
    expect(await ask(new Error('down'))).toEqual({ failure: 'down', spent: [], released: ['r7'], broken_off: [] });
    const unanswered = new ModelFailure('down', { code: 'model_error', recoverable: true });
    expect(await ask(unanswered)).toMatchObject({ failure: 'down', spent: [] });
    expect(await ask(new Error('stopped'), true)).toMatchObject({
      spent: [{ reservation: 'r7' }],
      broken_off: [expect.anything()],
    });
  });
});
