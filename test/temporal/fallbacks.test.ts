import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { SUMMARY_INSTRUCTIONS } from '../../src/domain/compaction.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type CompatibleVendor, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import { asks, fails, type ModelRequest, type ModelServer, says, startModelServer } from '../support/peers/model-server.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { answersOf, logsOf, openaiAt, outOfQuota, providerOf, WRITE_LINE } from '../support/runs/fallbacks.ts';
import { resultsOf, toolOf } from '../support/runs/run-facts.ts';

const ALICES_KEY = `alice-${crypto.randomUUID()}`;
const BOBS_KEY = `bob-${crypto.randomUUID()}`;

const LONG = 'EFFECT = "read"\ndef page() -> str:\n    return "word " * 600\n';
const isSummary = ({ messages }: ModelRequest) => messages[0]!.content === SUMMARY_INSTRUCTIONS;

let here: TestInstallation;
let claude: CompatibleVendor;
let first: ModelServer;
let second: ModelServer;
beforeAll(async () => {
  here = await shareInstallation();
  for (const [person, name] of [
    [here.alice, ALICES_KEY],
    [here.bob, BOBS_KEY],
  ] as const)
    await person.ok(person.post('/api/tokens', { name, value: `canary-${name}` }));
});
beforeEach(async () => {
  [claude, first, second] = await Promise.all([startCompatibleVendor(vendors.anthropic), startModelServer(), startModelServer()]);
});
afterEach(() => Promise.all([claude, first, second].map((one) => one.stop())));
afterAll(() => here?.stop());

const claudeProvider = (more: object = {}) =>
  providerOf(here.alice, {
    ...{ provider_type: 'anthropic_messages', base_url: claude.url, default_model: 'claude-sonnet-5' },
    ...{ api_key_token_name: ALICES_KEY, ...more },
  });

/** A workflow whose agent asks the scripted model of the installation, or else its fallbacks. */
async function workflowWith({ fallbacks, provider = {}, tools = [], ...agent }: Record<string, any>) {
  const provider_id = await providerOf(here.alice, openaiAt(first.url, provider));
  const id = await here.workflow({ agent: { provider_id, model: null, fallbacks, ...agent }, tools });
  return { id, provider_id };
}

it('a run falls from one vendor to another in the middle of a tool round: no call is made again, and each answer has its price', async () => {
  const claude_id = await claudeProvider({ price_table: { answered: { input: 13, output: 17 } } });
  const { id, provider_id } = await workflowWith({
    fallbacks: [{ on: ['overloaded'], provider_id: claude_id }],
    provider: { price_table: { scripted: { input: 7, output: 11 } } },
    tools: [WRITE_LINE],
  });
  const { name } = await toolOf(here, id);
  const overloaded = fails(503, { message: 'too many people' });
  first.script(asks({ name, args: { text: 'one' } }), overloaded, overloaded, overloaded);
  claude.script(
    messageAnswer([{ type: 'tool_use', id: 'toolu_1', name, input: { text: 'two' } }], { stop: 'tool_use' }),
    messageAnswer([{ type: 'text', text: 'Two lines.' }]),
  );
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Two lines.', error: null });
  expect(await resultsOf(here, id)).toEqual(['{"result": 1}', '{"result": 2}']);
  expect([first.requests.length, claude.requests.length]).toEqual([4, 2]);
  expect(claude.requests[0]!.messages.at(-1).content[0]).toMatchObject({ type: 'tool_result', content: '{"result": 1}' });
  expect(await answersOf(here, task_id)).toEqual([
    { provider_id, fallback: 0, model: 'scripted' },
    { provider_id: claude_id, fallback: 1, model: 'answered' },
    { provider_id: claude_id, fallback: 1, model: 'answered' },
  ]);
  const { usage } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
  // 10 tokens in and 5 out at 7 and 11 dollars per million, then twice 9 and 4 at 13 and 17.
  expect(usage.cost).toBeCloseTo((10 * 7 + 5 * 11 + 2 * (9 * 13 + 4 * 17)) / 1e6, 12);
  expect(await logsOf(here, task_id, 'retry')).toHaveLength(2);
  expect(await logsOf(here, task_id, 'fallback')).toEqual([
    expect.objectContaining({
      ...{ step: 2, reason: 'overloaded', error_code: 'model_error' },
      detail: expect.stringMatching(/503 too many people; asking claude-sonnet-5 of .+ instead$/),
      from: { provider_id, provider: expect.any(String), model: 'scripted' },
      to: { provider_id: claude_id, provider: expect.any(String), model: 'claude-sonnet-5', position: 1 },
    }),
  ]);
});

it('a quota that is used up is not asked again, and with fallback_minutes 0 only the step that failed goes elsewhere', async () => {
  const { id, provider_id } = await workflowWith({
    fallbacks: [{ on: ['quota'], provider_id: await providerOf(here.alice, openaiAt(second.url)) }],
    fallback_minutes: 0,
    builtin_tools: ['manage_todo_list'],
  });
  first.script(outOfQuota, fails(503), says('Here again.'));
  second.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }));
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Here again.' });
  const places = (await answersOf(here, task_id)).map(({ fallback }: { fallback: number }) => fallback);
  expect(places).toEqual([1, 0]);
  expect((await answersOf(here, task_id))[1].provider_id).toBe(provider_id);
  expect(await logsOf(here, task_id, 'fallback_ended')).toEqual([
    expect.objectContaining({
      step: 2,
      detail: expect.stringMatching(/^0 minutes are over; asking scripted of .+ again$/),
      from: expect.objectContaining({ model: 'scripted', provider_id: expect.not.stringContaining(provider_id) }),
      to: { provider_id, provider: expect.any(String), model: 'scripted' },
    }),
  ]);
});

it('a fallback whose key its owner keeps to himself is passed over, and the event has the reason', async () => {
  const bobs_id = await providerOf(here.bob, openaiAt(second.url, { api_key_token_name: BOBS_KEY }));
  const claude_id = await claudeProvider();
  const on = ['quota'];
  const { id } = await workflowWith({
    fallbacks: [
      { on, provider_id: bobs_id },
      { on, provider_id: claude_id },
    ],
  });
  first.script(outOfQuota);
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done.' });
  expect(second.requests).toEqual([]);
  const [to_bob, next] = await logsOf(here, task_id, 'fallback');
  expect(to_bob.to.provider_id).toBe(bobs_id);
  expect(next).toMatchObject({ reason: 'quota', from: { provider_id: bobs_id }, to: { provider_id: claude_id, position: 2 } });
  expect(next.detail).toContain(BOBS_KEY);
});

it('a fallback may fail as often as the model before it, and is then asked again', async () => {
  const { id } = await workflowWith({
    fallbacks: [{ on: ['overloaded'], provider_id: await providerOf(here.alice, openaiAt(second.url)) }],
  });
  first.always(fails(503));
  second.script(fails(503), says('At the second attempt.'));
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'At the second attempt.' });
  expect([first.requests.length, second.requests.length]).toEqual([3, 2]);
});

it('if every model fails, the run fails as at the first one, with what each of the others said', async () => {
  const second_id = await providerOf(here.alice, openaiAt(second.url, { name: here.unique('spare') }));
  const { id } = await workflowWith({ fallbacks: [{ on: ['quota'], provider_id: second_id, model: 'small' }] });
  first.script(outOfQuota);
  second.script(fails(400, { message: 'no such luck' }));
  const ended = await here.ended(await here.prompt(id));
  expect(ended).toMatchObject({ status: 'failed', error_code: 'quota_exhausted' });
  expect(ended.error).toMatch(/exceeded your current quota.+; then small of .*spare.*: .+400 no such luck/);
  expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
});

it('no other model is asked for a reason that the list does not name, nor for a key that is refused', async () => {
  const { id } = await workflowWith({
    fallbacks: [{ on: ['overloaded'], provider_id: await providerOf(here.alice, openaiAt(second.url)) }],
  });
  for (const [answer, error_code] of [
    [outOfQuota, 'quota_exhausted'],
    [fails(401, { message: 'who are you' }), 'model_unauthorized'],
  ] as const) {
    first.script(answer);
    expect(await here.ended(await here.prompt(id))).toMatchObject({ status: 'failed', error_code });
  }
  expect(second.requests).toEqual([]);
});

it('a provider’s own list counts for an agent without one, and another model of the same provider may stand in', async () => {
  const fallbacks = [{ on: ['deprecated'], model: 'spare-model' }];
  const { id, provider_id } = await workflowWith({ fallbacks: [], provider: { fallbacks } });
  first.script(fails(404, { message: 'The model `scripted` has been retired' }), says('From the spare.'));
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'From the spare.' });
  expect(first.requests.map(({ model }) => model)).toEqual(['scripted', 'spare-model']);
  expect(await answersOf(here, task_id)).toEqual([{ provider_id, fallback: 1, model: 'scripted' }]);
});

it('the next vendor is not sent the thinking that the one before has signed, which keeps its own', async () => {
  const thinking = { type: 'thinking', thinking: 'A list helps.', signature: 'c2ln' };
  const todo = { name: 'manage_todo_list', input: { todoList: [] } };
  const provider_id = await claudeProvider();
  const id = await here.workflow({
    agent: {
      ...{ provider_id, model: null, builtin_tools: [todo.name], fallback_minutes: 0 },
      fallbacks: [{ on: ['quota'], provider_id: await providerOf(here.alice, openaiAt(second.url)) }],
    },
  });
  let refusals = [2];
  await claude.stop();
  claude = await startCompatibleVendor((body, issued) => {
    const refused = refusals.includes(claude.requests.length);
    const quota = { type: 'error', error: { type: 'billing_error', message: 'Your credit balance is too low' } };
    return refused ? { status: 400, body: quota } : vendors.anthropic(body, issued);
  });
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { base_url: claude.url }));
  claude.script(
    messageAnswer([thinking, { type: 'tool_use', id: 'toolu_1', ...todo }], {
      ...{ stop: 'tool_use', issues: { id: 'toolu_1', added: { thinking: [thinking] } } },
    }),
    messageAnswer([{ type: 'text', text: 'Back.' }]),
  );
  second.script(asks({ name: todo.name, args: todo.input }));
  const ended = await here.ended(await here.prompt(id));
  expect(ended).toMatchObject({ status: 'completed', response: 'Back.' });
  refusals = [];
  expect(JSON.stringify(second.requests)).not.toMatch(/c2ln|A list helps|blocks/);
  const last = claude.requests.at(-1)!.messages.filter(({ role }: { role: string }) => role === 'assistant');
  expect(last.map(({ content }: any) => content.map(({ type }: any) => type))).toEqual([['thinking', 'tool_use'], ['tool_use']]);
});

it('what the fallback saw can be looked at, and a fork begins with the run’s own model and none of the other’s thinking', async () => {
  const todo = { name: 'manage_todo_list', input: { todoList: [] } };
  const thinking = { type: 'thinking', thinking: 'A list helps.', signature: 'c2ln' };
  const claude_id = await claudeProvider();
  const { id } = await workflowWith({ fallbacks: [{ on: ['quota'], provider_id: claude_id }], builtin_tools: [todo.name] });
  first.script(outOfQuota);
  claude.script(
    messageAnswer([thinking, { type: 'tool_use', id: 'toolu_1', ...todo }], {
      ...{ stop: 'tool_use', issues: { id: 'toolu_1', added: { thinking: [thinking] } } },
    }),
  );
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done.' });
  const shown = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps/2/request`));
  expect(shown).toMatchObject({ model: 'claude-sonnet-5', parameters: { max_tokens: 8_192, stream: true } });
  expect(shown.changeable).toMatchObject({ model: 'scripted' });
  first.script(says('From the first.'), says('From a model by name.'));
  const forkWith = async (changes?: object) => {
    const order = { from_step: 2, ...(changes ? { changes } : {}) };
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/fork`, order), 201);
    return { ...(await here.ended(fork.task_id)), places: await answersOf(here, fork.task_id) };
  };
  const fork = await forkWith();
  expect(fork).toMatchObject({ status: 'completed', response: 'From the first.' });
  expect(fork.places.map(({ fallback }: { fallback: number }) => fallback)).toEqual([1, 0]);
  expect(JSON.stringify(first.requests.at(-1))).not.toMatch(/c2ln|A list helps/);
  await forkWith({ model: 'by-name' });
  expect(first.requests.at(-1)).toMatchObject({ model: 'by-name' });
  first.script(outOfQuota);
  // Who names a model is not answered by another one.
  expect(await forkWith({ model: 'by-name' })).toMatchObject({ status: 'failed', error_code: 'quota_exhausted' });
});

it('a budget counts the price of the fallback before it is asked', async () => {
  const second_id = await providerOf(here.alice, openaiAt(second.url, { price_table: { '*': { input: 1_000_000, output: 0 } } }));
  const provider_id = await providerOf(here.alice, openaiAt(first.url, { price_table: { '*': { input: 0, output: 0 } } }));
  const budget = { max_cost_usd: 3, max_tokens: null, max_seconds: null, on_exhausted: 'halt' };
  const fallbacks = [{ on: ['quota'], provider_id: second_id }];
  const id = await here.workflow({ agent: { provider_id, model: null, fallbacks }, workflow: { budget } });
  first.script(outOfQuota);
  const halted = await here.ended(await here.prompt(id));
  expect(halted).toMatchObject({
    status: 'halted',
    error_code: 'budget_exhausted',
    error: expect.stringContaining('3 US dollars'),
  });
  expect(second.requests).toEqual([]);
});

it('a request that is too long for the model goes to one with room, if it may not be compacted', async () => {
  const roomy = await providerOf(here.alice, openaiAt(second.url, { context_window: 100_000 }));
  const provider_id = await providerOf(here.alice, openaiAt(first.url, { context_window: 1_000 }));
  const fallbacks = [{ on: ['context_too_long'], provider_id: roomy }];
  const id = await here.workflow({ agent: { provider_id, model: null, fallbacks }, workflow: { infinite_session: false } });
  second.script(says('There is room.'));
  const task_id = await here.prompt(id, 'word '.repeat(1_300));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'There is room.' });
  expect([first.requests.length, second.requests.length]).toEqual([0, 1]);
  expect(await logsOf(here, task_id, 'fallback')).toMatchObject([{ reason: 'context_too_long', step: 1 }]);
});

it('a summary of older messages is written by the fallback, too, if the model fails just then', async () => {
  const window = { context_window: 2_500 };
  const second_id = await providerOf(here.alice, openaiAt(second.url, window));
  const { id } = await workflowWith({ fallbacks: [{ on: ['quota'], provider_id: second_id }], provider: window, tools: [LONG] });
  const { name } = await toolOf(here, id);
  first.always((response, request) => (isSummary(request) ? outOfQuota : asks({ name }))(response, request));
  second.always((response, request) => says(isSummary(request) ? 'NOTES: some pages.' : 'All read.')(response, request));
  await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { max_turns: 20 }));
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'All read.' });
  expect([first.requests, second.requests].map((requests) => requests.filter(isSummary).length)).toEqual([1, 1]);
  const [compaction] = await logsOf(here, task_id, 'compaction');
  const [fallback] = await logsOf(here, task_id, 'fallback');
  expect(fallback.step).toBe(compaction.step);
});
