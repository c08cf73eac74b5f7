import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type CompatibleVendor, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import { asks, type ModelServer, startModelServer } from '../support/peers/model-server.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { openaiAt, outOfQuota, providerOf } from '../support/runs/fallbacks.ts';

const KEY = `key-${crypto.randomUUID()}`;

let here: TestInstallation;
let own: ModelServer;
let claude: CompatibleVendor;
beforeAll(async () => {
  here = await shareInstallation();
  [own, claude] = await Promise.all([startModelServer(), startCompatibleVendor(vendors.anthropic)]);
  await here.alice.ok(here.alice.post('/api/tokens', { name: KEY, value: `canary-${KEY}` }));
});
afterAll(async () => {
  await Promise.all([own, claude].map((one) => one?.stop()));
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
