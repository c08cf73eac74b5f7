import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  alice = openaiAt(here.url, here.people.alice.token);
  bob = openaiAt(here.url, here.people.bob.token);
});
afterAll(() => here.stop());

const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    return a + b\n';
const lastMessages = () => here.model.requests.at(-1)!.messages;
const user = (content: string) => ({ role: 'user' as const, content });
const listItems = async (id: string) =>
  (await alice.conversations.items.list(id, { order: 'asc', limit: 100 })).data as Record<string, any>[];
const show = ({ type, role, content, name, output }: Record<string, any>) => [role ?? type, content?.[0].text ?? name ?? output];

/** Ways to continue a conversation: the parameters of the first response, and of one after another. */
const WAYS = {
  previous_response_id: async () => [{}, (id: string) => ({ previous_response_id: id })] as const,
  conversation: async () => {
    const { id: conversation } = await alice.conversations.create();
    return [{ conversation }, () => ({ conversation })] as const;
  },
};

describe.each(Object.keys(WAYS) as (keyof typeof WAYS)[])('responses that continue by %s', (way) => {
  it('send what was sent before byte for byte, then more, with the calls of tools and their results', async () => {
    const model = await here.workflow({ tools: [ADD], workflow: { output_format: 'markdown' } });
    const { name } = await toolOf(here, model);
    const [begin, next] = await WAYS[way]();
    const rules = { model, instructions: 'Be brief.' };
    here.model.script(
      asks({ name, args: { a: 17, b: 25 } }),
      says('42.'),
      asks({ name, args: { a: 42, b: 5 } }),
      says('47.'),
      says('Bye.'),
    );
    const first = await alice.responses.create({ ...rules, ...begin, input: 'Add 17 and 25.' });
    const sent_first = JSON.stringify(lastMessages()).slice(0, -1);
    const second = await alice.responses.create({ ...rules, ...next(first.id), input: 'And 5.' });
    const sent_second = JSON.stringify(lastMessages()).slice(0, -1);
    expect(sent_second.startsWith(sent_first)).toBe(true);
    await alice.responses.create({ ...rules, ...next(second.id), input: 'Thanks.' });
    expect(JSON.stringify(lastMessages()).startsWith(sent_second)).toBe(true);
    expect(
      lastMessages()
        .slice(1)
        .map(({ role, content, tool_call_id, tool_calls }: any) => [role, tool_calls?.[0].id ?? tool_call_id ?? content]),
    ).toEqual([
      ['user', 'Add 17 and 25.'],
      ['assistant', '1-1-1'],
      ['tool', '1-1-1'],
      ['assistant', '42.'],
      ['user', 'And 5.'],
      ['assistant', '2-1-1'],
      ['tool', '2-1-1'],
      ['assistant', '47.'],
      ['user', 'Thanks.'],
    ]);
    const { rows } = await here.core.database.pool.query(`SELECT prompt FROM tasks WHERE id = $1`, [
      second.id.slice('resp_'.length),
    ]);
    expect(rows).toEqual([{ prompt: 'And 5.' }]);
  });
});

describe('the items of a conversation', () => {
  it('have the calls of its runs and their results, and keep their ids', async () => {
    const model = await here.workflow({ tools: [ADD], workflow: { output_format: 'markdown' } });
    const { name } = await toolOf(here, model);
    const { id } = await alice.conversations.create({ items: [user('I am Ann.')] });
    here.model.script(asks({ name, args: { a: 2, b: 3 } }), says('Five.'));
    const response = await alice.responses.create({ model, conversation: id, input: [user('Help me.'), user('Add 2 and 3.')] });
    const items = await listItems(id);
    expect(items.map(show)).toEqual([
      ['user', 'I am Ann.'],
      ['user', 'Help me.'],
      ['user', 'Add 2 and 3.'],
      ['function_call', name],
      ['function_call_output', '{"result": 5}'],
      ['assistant', 'Five.'],
    ]);
    expect(items[3]!.call_id).toBe(items[4]!.call_id);
    expect(items[5]!.id).toBe((response.output[0] as { id: string }).id);
    for (const item of items) expect(await alice.conversations.items.retrieve(item.id, { conversation_id: id })).toEqual(item);
    const pages: string[] = [];
    for await (const item of alice.conversations.items.list(id, { limit: 1, order: 'asc' })) pages.push(item.id!);
    expect(pages).toEqual(items.map((item) => item.id));
    const back: string[] = [];
    for await (const item of alice.conversations.items.list(id, { limit: 2 })) back.push(item.id!);
    expect(back).toEqual(pages.toReversed());
    const other = await bob.conversations.create();
    const theirs = bob.conversations.items.retrieve(items[3]!.id, { conversation_id: other.id });
    expect(await refusal(theirs)).toMatchObject({ status: 404 });
  });

  it('that are deleted are not read any more: a call goes with its result', async () => {
    const model = await here.workflow({ tools: [ADD], workflow: { output_format: 'markdown' } });
    const { name } = await toolOf(here, model);
    const { id } = await alice.conversations.create();
    here.model.script(asks({ name, args: { a: 2, b: 3 } }), says('Five.'), says('Seven.'), says('Eleven.'));
    const first = await alice.responses.create({ model, conversation: id, input: 'Add 2 and 3.' });
    await alice.responses.create({ model, conversation: id, input: 'Next prime?' });
    const items = await listItems(id);
    await alice.conversations.items.delete(items[2]!.id, { conversation_id: id });
    expect((await listItems(id)).map(show)).toEqual([
      ['user', 'Add 2 and 3.'],
      ['assistant', 'Five.'],
      ['user', 'Next prime?'],
      ['assistant', 'Seven.'],
    ]);
    expect(await refusal(alice.conversations.items.delete(items[1]!.id, { conversation_id: id }))).toMatchObject({ status: 404 });
    await alice.conversations.items.delete(items[3]!.id, { conversation_id: id });
    await alice.responses.create({ model, conversation: id, input: 'And then?' });
    expect(
      lastMessages()
        .slice(1)
        .map(({ content }) => content),
    ).toEqual(['Add 2 and 3.', 'Next prime?', 'Seven.', 'And then?']);
    expect((await alice.responses.retrieve(first.id)).output_text).toBe('Five.');
  });

  it('that were deleted are in no summary: the conversation is summed up again', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create();
    here.model.script(says('Hello.'), says('Again.'), says('Bye.'));
    const first = await alice.responses.create({ model, conversation: id, input: 'My code is 4711.' });
    const second = await alice.responses.create({ model, conversation: id, input: 'Hi.' });
    const [first_task, second_task] = [first, second].map((response) => response.id.slice('resp_'.length));
    await here.sql(
      `INSERT INTO task_messages (task_id, step, position, role, kind, content, extra)
        VALUES ($1, 0, -1000, 'user', 'summary', 'The code is 4711.', '{"turn": 1, "step": 1, "position": 110001}')`,
      second_task,
    );
    await alice.conversations.items.delete(`msg_${first_task}_0_0`, { conversation_id: id });
    await alice.responses.create({ model, conversation: id, input: 'Bye.' });
    expect(JSON.stringify(lastMessages())).not.toContain('4711');
  });
});

describe('a response of a conversation that did not complete', () => {
  it('is not part of it: the next one follows the last that did', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create();
    here.model.script(says('One.'), fails(400), hangs('Half'), says('Two.'));
    await alice.responses.create({ model, conversation: id, input: 'First.' });
    expect((await alice.responses.create({ model, conversation: id, input: 'Fails.' })).status).toBe('failed');
    const before = here.model.requests.length;
    const halted = await alice.responses.create({ model, conversation: id, input: 'Halts.', background: true });
    await until('the model is asked', async () => here.model.requests.length > before);
    expect((await alice.responses.cancel(halted.id)).status).toBe('cancelled');
    await alice.responses.create({ model, conversation: id, input: 'Second.' });
    expect(
      lastMessages()
        .slice(1)
        .map(({ content }) => content),
    ).toEqual(['First.', 'One.', 'Second.']);
    expect((await listItems(id)).map(show)).toEqual([
      ['user', 'First.'],
      ['assistant', 'One.'],
      ['user', 'Second.'],
      ['assistant', 'Two.'],
    ]);
  });
});

describe('a conversation', () => {
  it('may have a different model in each response, and is a thread of its owner', async () => {
    const [first, second] = [await here.workflow(), await here.workflow()];
    const { id } = await alice.conversations.create({ metadata: { topic: 'primes' } });
    const thread_id = id.slice('conv_'.length);
    expect(await here.alice.ok(here.alice.get(`/api/threads/${thread_id}`))).toMatchObject({ workflow_id: null, agent_id: null });
    here.model.script(says('Two.'), says('Three.'));
    await alice.responses.create({ model: first, conversation: id, input: 'A prime?' });
    const last = await alice.responses.create({ model: second, conversation: id, input: 'Another?' });
    expect(
      lastMessages()
        .slice(1)
        .map(({ content }) => content),
    ).toEqual(['A prime?', 'Two.', 'Another?']);
    expect(await here.alice.ok(here.alice.get(`/api/threads/${thread_id}`))).toMatchObject({
      ...{ workflow_id: first, metadata: { topic: 'primes' }, active_task_id: null },
      head_task_id: last.id.slice('resp_'.length),
    });
    expect((await here.bob.get(`/api/threads/${thread_id}`)).status).toBe(403);
  });

  it('leaves its responses behind when it is deleted, also one in progress, and they can be continued', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create();
    here.model.script(says('One.'), hangs('Half'), says('On.'));
    const first = await alice.responses.create({ model, conversation: id, input: 'First.' });
    const before = here.model.requests.length;
    const running = await alice.responses.create({ model, conversation: id, input: 'Second.', background: true });
    await until('the model is asked', async () => here.model.requests.length > before);
    await alice.conversations.delete(id);
    expect((await alice.responses.retrieve(running.id)).status).toBe('in_progress');
    expect((await alice.responses.cancel(running.id)).status).toBe('cancelled');
    await alice.responses.create({ model, previous_response_id: first.id, input: 'Continue.' });
    expect(
      lastMessages()
        .slice(1)
        .map(({ content }) => content),
    ).toEqual(['First.', 'One.', 'Continue.']);
  });
});
