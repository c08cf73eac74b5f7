import { describe, expect, it } from 'vitest';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import { readConfig } from '../../src/main/config.ts';
import { askWithinBudgets } from '../../src/main/wiring/chat-budgets.ts';
import { createAskModel } from '../../src/main/wiring/chat-replies.ts';
import { DIRECT, providerOf } from '../runtimes/support.ts';

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

it.each([
  ['the model of the agent', 'large', {}, 7],
  ["the provider's default model", null, { default_model: 'small' }, 3],
  ['the deployment of Azure', null, { provider_type: 'azure_openai', azure_deployment: 'tiny', default_model: null }, 2],
])('a chat reserves the price of %s', async (_, model, endpoint, input) => {
  const prices = Object.entries({ large: 7, small: 3, tiny: 2 }).map(([name, input]) => [name, { input, output: 5 }]);
  const price_table = Object.fromEntries(prices);
  const provider = providerOf({ base_url: 'http://127.0.0.1:9', api_key_token_name: 'key', ...endpoint, price_table });
  const reserved: { least_cost: number; least_tokens: number }[] = [];
  const blocked = { reason: 'never', name: 'Team', unit: 'usd', limit: 1, spent: 0, reserved: 0, least: 2, ends_at: 'x' };
  const core = {
    store: {
      ...{ providers: { find: async () => provider }, windows: { find: async () => null }, chatGuardrails: async () => [] },
      tokens: { open: async () => 'opened' },
      caps: {
        async reserveForChat(call: (typeof reserved)[number]) {
          reserved.push(call);
          return { blocked };
        },
      },
    },
    secrets: { recordSecret() {}, redact: (text: string) => text },
    setting: { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, config: readConfig({}) },
    egress: { providers: { fetch: DIRECT.fetch }, installation: DIRECT.installationFetch },
  };
  const caps = { hold: async (reserve: (id: string) => Promise<object>) => ({ reservation: null, answer: await reserve('r7') }) };
  const agent = { id: 'a', name: 'Clerk', system_prompt: '', model, provider_id: provider.id };
  const turn = { agent, caller: { key: 'local:ann', access_token: 'own' }, session_id: 's', question_id: 'q', message_id: 'm' };
  const hear = { emit() {}, reportUsage() {}, signal: new AbortController().signal };
  const asking = createAskModel(core as never, caps as never)(turn as never, [{ role: 'user', content: 'Hello.' }], hear);
  await expect(asking).rejects.toThrow('The budget Team of 1 US dollars is less than the next call needs');
  expect(reserved).toMatchObject([{ least_cost: expect.closeTo((reserved[0]!.least_tokens * input) / 1_000_000, 12) }]);
});
