import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import { asks, fails, hangs, type ModelRequest, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let alice: OpenAI;
const workers: Child[] = [];
beforeAll(async () => {
  here = await startTestInstallation();
  alice = openaiAt(here.url, ALICE);
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.end('SIGKILL');
});
afterAll(() => here?.stop());

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type Choice = OpenAI.Chat.Completions.ChatCompletionToolChoiceOption;
const USER: Message = { role: 'user', content: 'What is 17 + 25?' };
const named = (name: string) => ({ type: 'function' as const, function: { name } });
const add = named('add');
const tools = [add, named('multiply')];
const ADDS = { name: 'add', args: { a: 17, b: 25 } };
const TODOS = 'manage_todo_list';
/** What the model was offered in its last requests, and what it had to choose. */
const choices = (last: number) => here.model.requests.slice(-last).map(choiceOf);
const choiceOf = ({ tools: offered = [], tool_choice = null }: ModelRequest) => [
  offered.map((tool) => tool.function.name),
  tool_choice,
];
const resultOf = (message: OpenAI.Chat.Completions.ChatCompletionMessage): Message => ({
  ...{ role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: '42' },
});
const requestOf = async (completion_id: string, step: number) => {
  const task_id = completion_id.replace(/^(chatcmpl-|resp_)/, '');
  const { parameters } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps/${step}/request`));
  return parameters as Record<string, unknown>;
};

/** A workflow whose model is the vendor's. */
async function workflowOf(values: object): Promise<string> {
  const name = crypto.randomUUID();
  await here.alice.ok(here.alice.post('/api/tokens', { name, value: 'canary-vendor-key' }));
  const { id: provider_id } = await here.alice.ok(
    here.alice.post('/api/providers', { name, api_key_token_name: name, ...values }),
    201,
  );
  return here.workflow({ agent: { provider_id, model: null }, workflow: { reasoning_effort: 'high' } });
}

describe('a forced tool_choice', () => {
  it.each([
    ['required', 'required', ['add', 'multiply'], 'required'],
    ['a function by its name', add, ['add'], 'required'],
  ] as [string, Choice, string[], Choice][])(
    '%s holds for the first exchange, also if it is repeated',
    async (_, choice, offered, sent) => {
      const model = await here.workflow({ agent: { builtin_tools: [TODOS] } });
      here.model.script(fails(503), asks(ADDS), says('It is 42.'));
      const first = await alice.chat.completions.create({ model, messages: [USER], tools, tool_choice: choice });
      const { message } = first.choices[0]!;
      expect(message.tool_calls).toMatchObject([{ function: { name: 'add' } }]);
      expect(choices(2)).toEqual([
        [offered, sent],
        [offered, sent],
      ]);
      const next = await alice.chat.completions.create({ model, messages: [USER, message, resultOf(message)], tools });
      expect(next.choices[0]?.message.content).toBe('It is 42.');
      expect(choices(1)).toEqual([[['add', 'multiply', TODOS], null]]);
      expect((await requestOf(first.id, 1)).tool_choice).toEqual(sent);
      expect((await requestOf(first.id, 2)).tool_choice).toBeUndefined();
      expect(await here.alice.ok(here.alice.get(`/api/workflows/${model}/versions`))).toHaveLength(1);
    },
  );

  it('holds again for the first exchange after the results that it came with', async () => {
    const model = await here.workflow({ agent: { builtin_tools: [TODOS] } });
    const again = { name: 'multiply', args: { a: 6, b: 7 } };
    here.model.script(asks(ADDS), fails(503), asks(again), says('It is 42.'));
    const order = { model, tools, tool_choice: 'required' as const };
    const first = await alice.chat.completions.create({ ...order, messages: [USER] });
    const { message } = first.choices[0]!;
    const messages = [USER, message, resultOf(message)];
    const second = await alice.chat.completions.create({ ...order, messages, tool_choice: named('multiply') });
    const { message: called } = second.choices[0]!;
    expect(choices(2)).toEqual([
      [['multiply'], 'required'],
      [['multiply'], 'required'],
    ]);
    const last = await alice.chat.completions.create({ model, tools, messages: [...messages, called, resultOf(called)] });
    expect(last.choices[0]?.message.content).toBe('It is 42.');
    expect([await requestOf(first.id, 2), await requestOf(first.id, 3)].map(({ tool_choice }) => tool_choice)).toEqual([
      'required',
      undefined,
    ]);
    const task_id = first.id.replace('chatcmpl-', '');
    const bundle = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/bundle`));
    expect((bundle.steps as { input: object | null }[]).map(({ input }) => input !== null)).toEqual([true, true, true]);
  });

  it('works in responses', async () => {
    const model = await here.workflow();
    const functions = ['add', 'multiply'].map((name) => ({ type: 'function' as const, name, parameters: {}, strict: false }));
    here.model.script(asks(ADDS), asks({ name: 'multiply' }));
    const choice = { type: 'function' as const, name: 'add' };
    const first = await alice.responses.create({ model, input: 'x', tools: functions, tool_choice: choice });
    expect(choices(1)).toEqual([[['add'], 'required']]);
    const { call_id } = first.output[0] as OpenAI.Responses.ResponseFunctionToolCall;
    const input = [{ type: 'function_call_output' as const, call_id, output: '42' }];
    const next = { model, input, previous_response_id: first.id, tools: functions, tool_choice: 'required' as const };
    expect((await alice.responses.create(next)).output).toMatchObject([{ type: 'function_call', name: 'multiply' }]);
    expect(choices(1)).toEqual([[['add', 'multiply'], 'required']]);
  });

  it('is sent to Anthropic in its own words, without thinking', async () => {
    const vendor = await startCompatibleVendor(vendors.anthropic);
    try {
      const values = { provider_type: 'anthropic_messages', base_url: vendor.url, default_model: 'claude-sonnet-5' };
      const model = await workflowOf(values);
      const call = (id: string) => messageAnswer([{ type: 'tool_use', id, name: 'add', input: {} }], { stop: 'tool_use' });
      vendor.script(call('toolu_1'), call('toolu_2'));
      const order = { model, messages: [USER], tools };
      await alice.chat.completions.create({ ...order, tool_choice: add });
      const other = await workflowOf(values);
      await alice.chat.completions.create({ ...order, model: other, tool_choice: 'required', parallel_tool_calls: false });
      expect(vendor.requests.map(({ tool_choice, thinking, output_config }) => [tool_choice, thinking, output_config])).toEqual([
        [{ type: 'tool', name: 'add' }, undefined, { effort: 'high' }],
        [{ type: 'any', disable_parallel_tool_use: true }, undefined, { effort: 'high' }],
      ]);
      expect(vendor.refused()).toBe(0);
    } finally {
      await vendor.stop();
    }
  });

  it.each([
    ['names a function that is not among tools', named('divide'), tools, 'invalid_value'],
    ['comes without tools', 'required', undefined, 'unsupported_value'],
    ['names a function without tools', add, [], 'unsupported_value'],
    ['is another word', 'always', tools, 'unsupported_value'],
    ['is of another type', { type: 'web_search' }, tools, 'unsupported_value'],
    ['has no name', { type: 'function' }, tools, 'invalid_value'],
  ])('is refused if it %s', async (_, tool_choice, given, code) => {
    const model = await here.workflow();
    const order = { model, messages: [USER], tools: given, tool_choice } as never;
    expect(await refusal(alice.chat.completions.create(order))).toMatchObject({ status: 400, code, param: 'tool_choice' });
    expect(await here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${model}`))).toEqual([]);
  });

  it('is refused with results if the run began without the function; the run still waits for them', async () => {
    const model = await here.workflow();
    here.model.script(asks(ADDS), says('It is 42.'));
    const { message } = (await alice.chat.completions.create({ model, messages: [USER], tools: [add] })).choices[0]!;
    const order = { model, messages: [USER, message, resultOf(message)], tools };
    expect(await refusal(alice.chat.completions.create({ ...order, tool_choice: named('multiply') }))).toMatchObject({
      ...{ status: 400, code: 'invalid_value', param: 'tool_choice' },
    });
    expect((await alice.chat.completions.create(order)).choices[0]?.message.content).toBe('It is 42.');
  });

  it.each([
    ['tool_choice', { tool_choice: 'required' }],
    ['parallel_tool_calls', { parallel_tool_calls: false }],
  ])('is refused where the conversation is kept by the vendor: %s', async (param, asked) => {
    const model = await workflowOf({ provider_type: 'anthropic', default_model: 'claude-test' });
    const order = { model, messages: [USER], tools, ...asked } as never;
    expect(await refusal(alice.chat.completions.create(order))).toMatchObject({ status: 400, code: 'unsupported_value', param });
  });
});

it('a forced tool_choice with results holds for the next worker if one is killed while the model answers', async () => {
  const there = await startTestInstallation({ worker: false });
  try {
    workers.push(await startWorkerProcess(there.setting));
    const client = openaiAt(there.url, ALICE);
    const order = { model: await there.workflow(), tools, tool_choice: 'required' as const };
    there.model.script(asks(ADDS), hangs('Half'), asks(ADDS));
    const killed = async () => {
      await until('the model is asked', async () => there.model.requests.length === 2, 60_000);
      await workers.shift()!.end('SIGKILL');
      workers.push(await startWorkerProcess(there.setting));
    };
    const { message } = (await client.chat.completions.create({ ...order, messages: [USER] })).choices[0]!;
    const messages = [USER, message, resultOf(message)];
    const [second] = await Promise.all([client.chat.completions.create({ ...order, messages }), killed()]);
    expect(second.choices[0]?.finish_reason).toBe('tool_calls');
    expect(there.model.requests.map(choiceOf)).toEqual(Array(3).fill([['add', 'multiply'], 'required']));
  } finally {
    await there.stop();
  }
}, 240_000);

it('parallel_tool_calls: false is sent to the model, for this run alone', async () => {
  const model = await here.workflow();
  here.model.script(asks(ADDS), says('Done.'));
  await alice.chat.completions.create({ model, messages: [USER], tools, parallel_tool_calls: false });
  expect(here.model.requests.at(-1)?.parallel_tool_calls).toBe(false);
  const versions = (await here.alice.ok(here.alice.get(`/api/workflows/${model}/versions`))) as unknown as object[];
  expect(versions).toHaveLength(1);
});
