import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createCaps } from '../../src/temporal/activities/caps.ts';
import { reserveCaps } from '../../src/temporal/activities/reserve-caps.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { gate, openBudgets, PRICES, usage } from '../support/runs/budgets.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let made: ReturnType<typeof openBudgets>;
beforeAll(async () => {
  here = await startTestInstallation({ env: { RECONCILE_SECONDS: '5' } });
  made = openBudgets(here);
});
beforeEach(async () => {
  here.model.always(says('done'));
  await here.sql('DELETE FROM budgets');
});
afterAll(() => here?.stop());

const LOOK = 'EFFECT = "read"\ndef look() -> str:\n    """Looks."""\n    return "seen"\n';
const setPrices = (id: string, price_table: object) => here.alice.ok(here.alice.put(`/api/providers/${id}`, { price_table }));

it('a run that waits for the price of its model continues once that is set', async () => {
  const provider_id = await made.provider({ price_table: {} });
  const id = await here.workflow({ agent: { provider_id } });
  const mine = await made.budget({ limit_usd: 53 });
  const task_id = await here.prompt(id);
  await made.waiting(task_id);
  await setPrices(provider_id, PRICES);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
  expect(await made.logs(task_id, 'budget_exhausted')).toHaveLength(1);
  expect(await made.read(mine.id)).toMatchObject({ spent: 0.015, reserved: 0 });
});

it('a run that waits for the price of its model needs none of a fallback that it has not asked', async () => {
  const [provider_id, other_id] = [await made.provider({ price_table: {} }), await made.provider({ price_table: {} })];
  const fallbacks = [{ on: ['quota'], provider_id: other_id, model: 'never-asked' }];
  const id = await here.workflow({ agent: { provider_id, fallbacks } });
  await made.budget({ limit_usd: 53 });
  const task_id = await here.prompt(id);
  await made.waiting(task_id);
  await setPrices(provider_id, PRICES);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
});

it('the answer of another model without a price counts what was reserved, and its run waits before the next call', async () => {
  const price = PRICES['*'];
  // The endpoint answers as `scripted`.
  const provider_id = await made.provider({ default_model: 'gateway-7', price_table: { 'gateway-7': price } });
  const id = await here.workflow({ agent: { provider_id }, workflow: { max_output_tokens: 97 }, tools: [LOOK] });
  const mine = await made.budget({ limit_usd: 53 });
  let reserved = 0;
  here.model.script(async (response, request) => {
    reserved = (await made.read(mine.id)).reserved;
    await asks({ name: request.tools![0]!.function.name })(response, request);
  });
  const task_id = await here.prompt(id);
  await made.waiting(task_id);
  expect(reserved).toBeGreaterThan(0.097);
  expect((await made.read(mine.id)).spent).toBeCloseTo(reserved, 9);
  const [exhausted, ...others] = await made.logs(task_id, 'budget_exhausted');
  expect(exhausted.detail).toMatch(/cannot count the model scripted, which has no price/);
  expect(others).toEqual([]);
  await setPrices(provider_id, { 'gateway-7': price, scripted: price });
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'done' });
  expect((await made.read(mine.id)).spent).toBeCloseTo(reserved + 0.015, 9);
});

it('a summary that is halted counts what it has used', async () => {
  const pages = 'EFFECT = "read"\ndef pages() -> str:\n    """Returns pages."""\n    return "page " * 1200';
  const agent = { provider_id: await made.provider({ context_window: 2_500 }) };
  const id = await here.workflow({ agent, workflow: { max_turns: 9 }, tools: [pages] });
  const mine = await made.budget({ limit_tokens: 1_000_003 });
  let is_summarising = false;
  here.model.always((response, request) => {
    const name = request.tools?.[0]?.function.name;
    is_summarising = name === undefined;
    return (name ? asks({ name }) : hangs('Some text of the summary '))(response, request);
  });
  const task_id = await here.prompt(id, 'Read the pages.');
  await until('the summary', async () => is_summarising);
  const { spent, reserved } = await made.read(mine.id);
  expect(reserved).toBeGreaterThan(4_096);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
  const { usage: used } = await here.ended(task_id);
  await until('the release', async () => (await made.reservations()).length === 0);
  expect((await made.read(mine.id)).spent).toBeGreaterThan(spent + 500);
  expect((await made.read(mine.id)).spent).toBe(used.total_in + used.total_out);
});

it('a reservation ends if its warning cannot be published', async () => {
  await made.budget({ limit_tokens: 7_919, warn_at: [0.5] });
  const { opened, open } = gate();
  here.model.script(says('one two', { until: opened }));
  const task_id = await here.prompt(await made.workflow());
  await until('the reservation', async () => (await made.reservations()).length > 0);
  await here.sql('UPDATE budget_periods SET tokens = 4099');
  const { store } = here.core;
  const begun = (await store.runs.open(task_id, 1))!;
  const ports = {
    runs: { wait: store.runs.wait, publishDeltas: () => Promise.reject(new Error('The record is full')) },
    caps: createCaps({ caps: store.caps, raise: here.driver.engine.raise }),
    reserveForStep: store.caps.reserveForStep,
    now: () => new Date().toISOString(),
  };
  const run = { ...begun, attempts: begun.attempts - 1 };
  const definition = await store.definitions.get(run.definition_hash);
  const reserving = reserveCaps({ ports, run, definition, selected: { prices: PRICES }, tokens: 3, step: 1 });
  await expect(reserving).rejects.toThrow('The record is full');
  expect(await made.reservations()).toEqual([]);
  open();
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
});

it('a request slot that a summary has used is not given back', async () => {
  const pages = 'EFFECT = "read"\ndef pages() -> str:\n    """Returns pages."""\n    return "page " * 1200';
  const provider_id = await made.provider({ context_window: 2_500, requests_per_minute: 60 });
  const id = await here.workflow({ agent: { provider_id }, workflow: { max_turns: 9 }, tools: [pages] });
  const mine = await made.budget({ limit_tokens: 1_000_003 });
  const nextAt = async () =>
    (await here.sql('SELECT next_at FROM provider_rates WHERE provider_id = $1', provider_id))[0].next_at;
  let at_summary: Date | null = null;
  here.model.always(async (response, request) => {
    const name = request.tools?.[0]?.function.name;
    if (name) return asks({ name })(response, request);
    at_summary = await nextAt();
    return says('short', usage(7, 1_000_003))(response, request);
  });
  const task_id = await here.prompt(id, 'Read the pages.');
  await made.waiting(task_id);
  expect(at_summary).not.toBeNull();
  expect(await nextAt()).toEqual(at_summary);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
  await here.ended(task_id);
  expect((await made.read(mine.id)).left).toBe(0);
});
