import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type CompatibleVendor, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import { asks, fails, hangs, type ModelServer, says, startModelServer } from '../support/peers/model-server.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { openaiAt, outOfQuota, providerOf } from '../support/runs/fallbacks.ts';
import { until } from '../support/until.ts';

const KEY = `key-${crypto.randomUUID()}`;

let here: TestInstallation;
let own: ModelServer;
let second: ModelServer;
let claude: CompatibleVendor;
beforeAll(async () => {
  here = await shareInstallation();
  [own, second, claude] = await Promise.all([startModelServer(), startModelServer(), startCompatibleVendor(vendors.anthropic)]);
  await here.alice.ok(here.alice.post('/api/tokens', { name: KEY, value: `canary-${KEY}` }));
});
afterAll(async () => {
  await Promise.all([own, second, claude].map((one) => one?.stop()));
  await here?.stop();
});

const readUsage = async (query: string): Promise<any[]> => (await here.alice.ok(here.alice.get(`/api/usage${query}`))).rows;

it('usage counts each answer for the model and the provider that gave it, and the run once', async () => {
  const claude_id = await providerOf(here.alice, {
    ...{ provider_type: 'anthropic_messages', base_url: claude.url, default_model: 'claude-sonnet-5', api_key_token_name: KEY },
    price_table: { answered: { input: 13, output: 17 } },
  });
  const own_id = await providerOf(here.alice, openaiAt(own.url, { price_table: { scripted: { input: 7, output: 11 } } }));
  const fallbacks = [{ on: ['quota'], provider_id: claude_id }];
  const id = await here.workflow({
    agent: { provider_id: own_id, model: null, fallbacks, builtin_tools: ['manage_todo_list'] },
  });
  const todo = (tool: string) => ({ type: 'tool_use', id: tool, name: 'manage_todo_list', input: { todoList: [] } });
  own.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), outOfQuota);
  claude.script(messageAnswer([todo('toolu_1')], { stop: 'tool_use' }), messageAnswer([{ type: 'text', text: 'Planned.' }]));
  expect(await here.ended(await here.prompt(id))).toMatchObject({ status: 'completed', response: 'Planned.' });

  // 10 tokens in and 5 out at 7 and 11 dollars per million, then twice 9 and 4 at 13 and 17.
  const first_part = { runs: 1, completed: 1, total_in: 10, total_out: 5, cost: expect.closeTo((10 * 7 + 5 * 11) / 1e6, 12) };
  const second_part = { runs: 1, completed: 1, total_in: 18, total_out: 8, cost: expect.closeTo((18 * 13 + 8 * 17) / 1e6, 12) };
  expect(await readUsage('?by=model')).toEqual([
    expect.objectContaining({ ...second_part, key: 'answered' }),
    expect.objectContaining({ ...first_part, key: 'scripted' }),
  ]);
  expect(await readUsage('?by=provider')).toEqual([
    expect.objectContaining({ ...second_part, key: claude_id }),
    expect.objectContaining({ ...first_part, key: own_id }),
  ]);
  const whole = { runs: 1, completed: 1, total_in: 28, total_out: 13, cost: expect.closeTo((125 + 370) / 1e6, 12) };
  expect(await readUsage('')).toEqual([expect.objectContaining(whole)]);
  expect(await readUsage('?by=workflow')).toEqual([expect.objectContaining({ ...whole, key: id })]);
  expect(await readUsage('?by=model&most=1')).toEqual([
    expect.objectContaining({ ...second_part, key: 'answered' }),
    expect.objectContaining({ ...first_part, key: null }),
  ]);
});

/** A workflow whose model is followed by one of the second server, for the reasons `quota` and `content_filter`. */
async function twoModels(names: [string, string] = ['scripted', 'scripted'], prices: [object, object] = [{}, {}]) {
  const [own_id, second_id] = [
    await providerOf(here.alice, openaiAt(own.url, { default_model: names[0], price_table: prices[0] })),
    await providerOf(here.alice, openaiAt(second.url, { default_model: names[1], price_table: prices[1] })),
  ];
  const fallbacks = [{ on: ['quota', 'content_filter'], provider_id: second_id }];
  const id = await here.workflow({ agent: { provider_id: own_id, model: null, fallbacks } });
  const readParts = async () => (await readUsage('?by=provider')).filter(({ key }) => [own_id, second_id].includes(key));
  return { id, own_id, second_id, readParts };
}

it('the failures of a model that a fallback followed count for this model, and the fallback fails as often as it would alone', async () => {
  const names: [string, string] = [`first-${crypto.randomUUID()}`, `second-${crypto.randomUUID()}`];
  const { id } = await twoModels(names);
  own.script(outOfQuota);
  second.script(fails(503), fails(503), fails(503));
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'failed' });
  const { steps_detail } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}?include=steps`));
  expect(steps_detail).toEqual([expect.objectContaining({ errors: 4, attempts: 4, model: names[1], fallback: 1 })]);
  const alert = { name: `failures of ${id}`, measure: 'provider_errors', threshold: 1_009, workflow_id: id };
  const made = await here.alice.ok(here.alice.post('/api/alerts', alert), 201);
  await here.core.store.alerts.measure(new Date());
  expect(await here.alice.ok(here.alice.get(`/api/alerts/${made.id}`))).toMatchObject({ last_value: 4 });
  const { rows } = await here.alice.ok(here.alice.get('/api/usage/models'));
  expect(rows.filter(({ name }: { name: string }) => names.includes(name))).toEqual(
    names.map((name) => expect.objectContaining({ name, calls: 1, failed: 1 })),
  );
});

it('a step that two models were paid for counts for each with its own part', async () => {
  const { id, own_id, second_id, readParts } = await twoModels();
  own.script(says('Half.', { finish: 'content_filter', usage: { prompt_tokens: 13, completion_tokens: 7, total_tokens: 20 } }));
  second.script(says('Whole.', { usage: { prompt_tokens: 29, completion_tokens: 3, total_tokens: 32 } }));
  expect(await here.ended(await here.prompt(id))).toMatchObject({
    response: 'Whole.',
    usage: { total_in: 42, total_out: 10 },
  });
  const parts = await readParts();
  expect(parts).toHaveLength(2);
  expect(parts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ key: own_id, runs: 1, total_in: 13, total_out: 7, cost: null }),
      expect.objectContaining({ key: second_id, runs: 1, total_in: 29, total_out: 3, cost: null }),
    ]),
  );
});

const PRICED = { scripted: { input: 7, output: 11 } };
const REPORTED = { prompt_tokens: 13, completion_tokens: 7, total_tokens: 20 };
const UNREPORTED = {};

it.each([
  ['the first, which is estimated', [UNREPORTED, PRICED], [REPORTED, PRICED]],
  ['the second, which is estimated', [REPORTED, PRICED], [UNREPORTED, PRICED]],
  ['both, which are estimated', [UNREPORTED, PRICED], [UNREPORTED, PRICED]],
  ['the first, which has no price', [REPORTED, {}], [REPORTED, PRICED]],
  ['the second, which has no price', [REPORTED, PRICED], [REPORTED, {}]],
  ['both, which have no price', [REPORTED, {}], [REPORTED, {}]],
  ['neither', [REPORTED, PRICED], [REPORTED, PRICED]],
])(
  'what is uncertain of a step counts for it, and of its two models for %s',
  async (_, [usage, price], [next_usage, next_price]) => {
    const { id, own_id, second_id, readParts } = await twoModels(['scripted', 'scripted'], [price!, next_price!]);
    own.script(says('Half.', { finish: 'content_filter', usage: usage! }));
    second.script(says('Whole.', { usage: next_usage! }));
    const task_id = await here.prompt(id);
    await here.ended(task_id);
    const is_estimated = [usage, next_usage].map((one) => one === UNREPORTED);
    const is_priced = [price, next_price].map((one) => one === PRICED);
    const { steps_detail } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}?include=steps`));
    expect(steps_detail).toMatchObject([
      { fallback: 1, usage: { estimated: is_estimated.includes(true), priced: !is_priced.includes(false) } },
    ]);
    const parts = Object.fromEntries((await readParts()).map(({ key, estimated, unpriced }) => [key, { estimated, unpriced }]));
    expect(parts).toEqual({
      [own_id]: { estimated: Number(is_estimated[0]), unpriced: Number(!is_priced[0]) },
      [second_id]: { estimated: Number(is_estimated[1]), unpriced: Number(!is_priced[1]) },
    });
  },
);

it('a step that is halted while a fallback answers counts for the fallback', async () => {
  const { id, second_id, readParts } = await twoModels();
  own.script(outOfQuota);
  second.script(hangs('Half of '));
  const asked = second.requests.length;
  const task_id = await here.prompt(id);
  await until('the fallback is asked', async () => second.requests.length > asked);
  expect((await here.alice.post(`/api/tasks/${task_id}/stop`)).status).toBe(202);
  const { usage } = await here.ended(task_id);
  expect(usage).toMatchObject({ estimated: true });
  const { total_in, total_out } = usage;
  expect(await readParts()).toEqual([expect.objectContaining({ key: second_id, halted: 1, total_in, total_out })]);
});
