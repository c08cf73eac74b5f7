import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metricsOf } from '../support/contract/metrics.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await startTestInstallation({ env: { CLIENT_TOOL_SECONDS: '3' } });
  alice = openaiAt(here.url, ALICE);
  bob = openaiAt(here.url, BOB);
});
afterAll(() => here.stop());

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
const USER: Message = { role: 'user', content: 'What is 17 + 25?' };
const parameters = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } };
const tools = [{ type: 'function' as const, function: { name: 'add', description: 'Adds', parameters } }];
const ADDS = { name: 'add', args: { a: 17, b: 25 } };
const taskOf = (id: string) => id.replace(/^(chatcmpl-|resp_)/, '');
const tasksOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`))) as unknown as { id: string }[];
/** A run that waits for its client: the completion, and the conversation that answers it. */
async function asked(model: string, ...answer: Parameters<typeof here.model.script>) {
  here.model.script(asks(ADDS), ...answer);
  const completion = await alice.chat.completions.create({ model, messages: [USER], tools });
  const { message } = completion.choices[0]!;
  const tool_call_id = message.tool_calls?.[0]?.id ?? '';
  return { completion, message, messages: [USER, message, { role: 'tool', tool_call_id, content: '42' }] as Message[] };
}

describe('a function of the client, in completions', () => {
  it('is called by the model, executed by the client, and the same run continues', async () => {
    const model = await here.workflow();
    const { completion, message, messages } = await asked(model, says('It is 42.'));
    expect(completion.choices[0]?.finish_reason).toBe('tool_calls');
    expect(message).toMatchObject({ content: null, tool_calls: [{ type: 'function', function: { name: 'add' } }] });
    expect(here.model.requests.at(-1)?.tools?.map((tool) => tool.function)).toMatchObject([{ name: 'add', parameters }]);
    const task = await here.alice.ok(here.alice.get(`/api/tasks/${taskOf(completion.id)}`));
    expect(task.status).toBe('waiting');
    expect((await metricsOf(here.url)).sum('perdura_calls_waiting', { reason: 'client' })).toBe(1);
    const next = await alice.chat.completions.create({ model, messages, tools });
    expect(next.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is 42.' } });
    expect(next.id).toBe(completion.id);
    expect(here.model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: '42' });
    expect(await tasksOf(model)).toHaveLength(1);
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${model}/versions`))).toHaveLength(1);
  });

  it('works with the helper of OpenAI’s client, several at once and in several rounds', async () => {
    const model = await here.workflow();
    here.model.script(asks(ADDS, { ...ADDS, id: 'other', args: { a: 1, b: 2 } }), asks(ADDS), says('Done.'));
    const sums: number[] = [];
    const add = ({ a, b }: { a: number; b: number }) => {
      sums.push(a + b);
      return a + b;
    };
    const runner = alice.chat.completions.runTools({
      model,
      messages: [USER],
      tools: [{ type: 'function', function: { name: 'add', description: 'Adds', parameters, parse: JSON.parse, function: add } }],
    });
    expect(await runner.finalContent()).toBe('Done.');
    expect(sums).toEqual([42, 3, 42]);
    expect(await tasksOf(model)).toHaveLength(1);
  });

  it('is streamed as a call, and its answer as text', async () => {
    const model = await here.workflow();
    here.model.script(asks(ADDS), says('It is 42.'));
    const order = { model, tools, stream: true as const };
    const stream = alice.chat.completions.stream({ ...order, messages: [USER] });
    const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0]!;
    expect([
      finish_reason,
      JSON.parse((message.tool_calls![0] as { function: { arguments: string } }).function.arguments),
    ]).toEqual(['tool_calls', ADDS.args]);
    const result = { role: 'tool' as const, tool_call_id: message.tool_calls![0]!.id, content: '42' };
    const rest = alice.chat.completions.stream({ ...order, messages: [USER, message, result] });
    expect(await rest.finalContent()).toBe('It is 42.');
  });

  it('stays next to the tools of the agent, whose names it cannot take', async () => {
    const model = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }, ADDS), says('Done.'));
    const { choices } = await alice.chat.completions.create({ model, messages: [USER], tools });
    expect(choices[0]?.message.tool_calls).toHaveLength(1);
    const taken = [{ type: 'function' as const, function: { name: 'manage_todo_list' } }];
    const other = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    expect(await refusal(alice.chat.completions.create({ model: other, messages: [USER], tools: taken }))).toMatchObject({
      ...{ status: 400, code: 'tool_name_taken', param: 'tools' },
    });
    expect(await tasksOf(other)).toEqual([]);
    const message = choices[0]!.message;
    const result: Message = { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: '42' };
    const next = await alice.chat.completions.create({ model, messages: [USER, message, result], tools });
    expect(next.choices[0]?.message.content).toBe('Done.');
  });

  it('is answered by the one who began the run, completely; a repeated answer changes nothing', async () => {
    const { messages } = await asked(await here.workflow(), says('It is 42.'));
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
    const { name: model } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    expect(await refusal(bob.chat.completions.create({ model, messages, tools }))).toMatchObject({
      ...{ status: 400, code: 'tool_call_not_found' },
    });
    const first = await alice.chat.completions.create({ model, messages, tools });
    expect((await alice.chat.completions.create({ model, messages, tools })).choices).toEqual(first.choices);

    here.model.script(asks(ADDS, { ...ADDS, id: 'other' }), says('Twice.'));
    const two = (await alice.chat.completions.create({ model, messages: [USER], tools })).choices[0]!.message;
    const [one, other] = two.tool_calls!.map(({ id }): Message => ({ role: 'tool', tool_call_id: id, content: '42' }));
    expect(await refusal(alice.chat.completions.create({ model, messages: [USER, two, one!], tools }))).toMatchObject({
      ...{ status: 400, code: 'missing_tool_output' },
    });
    const both = await alice.chat.completions.create({ model, messages: [USER, two, one!, other!], tools });
    expect(both.choices[0]?.message.content).toBe('Twice.');
  });

  it('is waited for a while, then the run fails; a halt ends the wait', async () => {
    const { completion, messages } = await asked(await here.workflow());
    expect(await here.ended(taskOf(completion.id))).toMatchObject({ status: 'failed', error_code: 'client_call_expired' });
    expect(await refusal(alice.chat.completions.create({ model: 'x', messages, tools }))).toMatchObject({
      ...{ status: 502, code: 'client_call_expired' },
    });
    const { completion: halted } = await asked(await here.workflow());
    await here.alice.post(`/api/tasks/${taskOf(halted.id)}/stop`);
    expect(await here.ended(taskOf(halted.id))).toMatchObject({ status: 'halted' });
  });

  it('that was called in an earlier turn is part of the context', async () => {
    const model = await here.workflow();
    here.model.script(says('Yes.'));
    const call = { id: 'call_of_another', type: 'function' as const, function: { name: 'add', arguments: '{"a":1}' } };
    const messages: Message[] = [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: '42' },
      { role: 'user', content: 'Is it 42?' },
    ];
    await alice.chat.completions.create({ model, messages, tools });
    expect(here.model.requests.at(-1)?.messages.at(-1)?.content).toBe(
      '<message role="assistant">\n[called add with {"a":1}]\n</message>\n<message role="tool">\n42\n</message>\n\nIs it 42?',
    );
  });

  it.each([
    ['a name that is none', [{ type: 'function', function: { name: 'a b' } }]],
    ['the same name twice', [...tools, ...tools]],
    ['parameters that are none', [{ type: 'function', function: { name: 'a', parameters: [] } }]],
  ])('is refused with %s', async (_, wrong) => {
    const model = await here.workflow();
    const refused = await refusal(alice.chat.completions.create({ model, messages: [USER], tools: wrong } as never));
    expect(refused).toMatchObject({ status: 400, code: 'invalid_tools', param: 'tools' });
  });
});

describe('a function of the client, in responses', () => {
  const functions = [{ type: 'function' as const, name: 'add', parameters, strict: false }];

  it('is answered with previous_response_id', async () => {
    const model = await here.workflow();
    here.model.script(asks(ADDS), says('It is 42.'));
    const first = await alice.responses.create({ model, input: 'What is 17 + 25?', tools: functions });
    const call = first.output[0] as OpenAI.Responses.ResponseFunctionToolCall;
    expect([first.status, call]).toMatchObject(['completed', { type: 'function_call', name: 'add' }]);
    expect((await alice.responses.retrieve(first.id)).output).toEqual(first.output);
    const output = { type: 'function_call_output' as const, call_id: call.call_id, output: '42' };
    const next = { model, input: [output], previous_response_id: first.id, tools: functions };
    expect((await alice.responses.create(next)).output_text).toBe('It is 42.');
    expect(await tasksOf(model)).toHaveLength(1);
  });

  it('is streamed, and answered with the whole conversation', async () => {
    const model = await here.workflow();
    here.model.script(asks(ADDS), says('It is 42.'));
    let call: OpenAI.Responses.ResponseFunctionToolCall | undefined;
    const input = [{ role: 'user' as const, content: 'What is 17 + 25?' }];
    for await (const event of await alice.responses.create({ model, input, tools: functions, stream: true }))
      if (event.type === 'response.output_item.done' && event.item.type === 'function_call') call = event.item;
    expect(JSON.parse(call?.arguments ?? '')).toEqual(ADDS.args);
    const output = { type: 'function_call_output' as const, call_id: call!.call_id, output: '42' };
    let text = '';
    const rest = { model, input: [...input, call!, output], tools: functions, stream: true as const };
    for await (const event of await alice.responses.create(rest))
      if (event.type === 'response.output_text.delta') text += event.delta;
    expect(text).toBe('It is 42.');
  });
});
