import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';
import { PNG } from '../support/runs/attachments.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  alice = openaiAt(here.url, here.people.alice.token);
  bob = openaiAt(here.url, here.people.bob.token);
});
afterAll(() => here?.stop());

/** What the model was sent after the system prompt: of each message its role and its content, or its calls. */
const given = () =>
  here.model.requests
    .at(-1)!
    .messages.slice(1)
    .map(({ role, content, tool_calls }: any) => [role, tool_calls?.map((call: any) => call.function) ?? content]);
const user = (content: string) => ({ role: 'user' as const, content });
const texts = async (id: string) => {
  const { data } = await alice.conversations.items.list(id, { order: 'asc', limit: 100 });
  return data.map((item) => {
    const { type, role, content, output } = item as Record<string, any>;
    return [role ?? type, content?.map(({ text }: { text: string }) => text).join('') ?? output ?? ''];
  });
};
const agentOf = async (workflow_id: string) => {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  return (await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).name as string;
};
const UNKNOWN = 'conv_0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

describe('a conversation', () => {
  it('is created, read, changed and deleted', async () => {
    const made = await alice.conversations.create({ metadata: { topic: 'a' }, items: [user('I am Ann.')] });
    expect(made).toMatchObject({ id: expect.stringMatching(/^conv_/), object: 'conversation', metadata: { topic: 'a' } });
    expect(await alice.conversations.retrieve(made.id)).toEqual(made);
    expect(await alice.conversations.update(made.id, { metadata: { topic: 'b' } })).toMatchObject({ metadata: { topic: 'b' } });
    expect(await alice.conversations.update(made.id, { metadata: null })).toMatchObject({ metadata: {} });
    expect(await texts(made.id)).toEqual([['user', 'I am Ann.']]);
    expect(await alice.conversations.delete(made.id)).toEqual({ id: made.id, object: 'conversation.deleted', deleted: true });
    expect(await refusal(alice.conversations.retrieve(made.id))).toMatchObject({ status: 404 });
    expect(await alice.conversations.create()).toMatchObject({ metadata: {} });
  });

  it('has items that are added, listed in pages, read and deleted', async () => {
    const { id } = await alice.conversations.create({ items: [user('1'), user('2')] });
    const call = { type: 'function_call' as const, call_id: 'c', name: 'add', arguments: '{}' };
    const output = { type: 'function_call_output' as const, call_id: 'c', output: '3' };
    const added = await alice.conversations.items.create(id, { items: [{ role: 'assistant', content: '3' }, call, output] });
    expect(added.data.map((item) => item.type)).toEqual(['message', 'function_call', 'function_call_output']);
    const pages = [];
    for await (const item of alice.conversations.items.list(id, { limit: 2 })) pages.push(item);
    expect(pages.map((item) => item.id)).toEqual(
      (await alice.conversations.items.list(id, { order: 'asc' })).data.map((item) => item.id).reverse(),
    );
    expect(pages).toHaveLength(5);
    const [first] = added.data;
    expect(await alice.conversations.items.retrieve(first!.id!, { conversation_id: id })).toEqual(first);
    expect(first).toMatchObject({ role: 'assistant', content: [{ type: 'output_text', text: '3' }] });
    expect(await alice.conversations.items.delete(first!.id!, { conversation_id: id })).toMatchObject({ id });
    expect(await refusal(alice.conversations.items.retrieve(first!.id!, { conversation_id: id }))).toMatchObject({ status: 404 });
    here.model.script(says('ok'));
    await alice.responses.create({ model: await here.workflow(), input: 'Go.', conversation: id });
    const shown = pages.map((item) => item.id).filter((item_id) => item_id !== first!.id);
    expect(given()).toEqual([
      ['user', '1'],
      ['user', '2'],
      ['assistant', [{ name: 'add', arguments: '{}' }]],
      ['tool', '3'],
      ['user', 'Go.'],
    ]);
    // They keep their ids once a response has read them.
    const { data } = await alice.conversations.items.list(id, { limit: 100 });
    expect(data.slice(2).map((item) => item.id)).toEqual(shown);
    const read = shown.map((item_id) => alice.conversations.items.retrieve(item_id!, { conversation_id: id }));
    expect((await Promise.all(read)).map((item) => item.id)).toEqual(shown);
  });

  it('is nobody else’s', async () => {
    const name = await agentOf(await here.workflow());
    const made = await alice.conversations.create({ items: [user('Secret.')] });
    const { data } = await alice.conversations.items.list(made.id);
    const item_id = data[0]!.id!;
    const other = await bob.conversations.create();
    for (const id of [made.id, UNKNOWN, 'x', made.id.replace('conv_', '')]) {
      const tries = [
        () => bob.conversations.retrieve(id),
        () => bob.conversations.update(id, { metadata: {} }),
        () => bob.conversations.delete(id),
        () => bob.conversations.items.list(id),
        () => bob.conversations.items.create(id, { items: [user('x')] }),
        () => bob.conversations.items.retrieve(item_id, { conversation_id: id }),
        () => bob.conversations.items.delete(item_id, { conversation_id: id }),
        () => bob.responses.create({ model: name, input: 'x', conversation: id }),
      ];
      for (const one of tries) expect(await refusal(one())).toMatchObject({ status: 404 });
    }
    expect(await refusal(bob.conversations.items.retrieve(item_id, { conversation_id: other.id }))).toMatchObject({
      status: 404,
    });
    expect(await texts(made.id)).toEqual([['user', 'Secret.']]);
  });

  it('refuses what it does not keep', async () => {
    const { id } = await alice.conversations.create();
    const add = (...items: object[]) => refusal(alice.conversations.items.create(id, { items: items as never }));
    for (const type of ['reasoning', 'web_search_call', 'item_reference', 'mcp_call'])
      expect(await add(user('x'), { type, id: 'x' })).toMatchObject({
        status: 400,
        param: 'items.1',
        message: expect.stringContaining(type),
      });
    expect(await add({ role: 'critic', content: 'x' })).toMatchObject({ status: 400, param: 'items.0.role' });
    expect(await add()).toMatchObject({ status: 422, param: 'items' });
    expect(await add(...Array.from({ length: 21 }, () => user('x')))).toMatchObject({ status: 422, param: 'items' });
    expect(await add({ role: 'user', content: [{ type: 'input_image', image_url: 'https://x/y.png' }] })).toMatchObject({
      status: 400,
    });
    expect(await texts(id)).toEqual([]);
    const unknown = { role: 'user', content: [{ type: 'input_file', file_id: crypto.randomUUID() }] };
    expect(await refusal(alice.conversations.create({ metadata: { made: 'not' }, items: [unknown] as never }))).toMatchObject({
      status: 404,
    });
    expect((await here.core.database.pool.query(`SELECT 1 FROM threads WHERE metadata ->> 'made' = 'not'`)).rowCount).toBe(0);
    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    const named = (metadata: Record<string, string>) => refusal(alice.conversations.create({ metadata }));
    expect(await named(pairs(16))).toBeNull();
    for (const wrong of [pairs(17), { ['k'.repeat(65)]: 'v' }, { k: 'v'.repeat(513) }])
      expect(await named(wrong)).toMatchObject({ status: 422 });
  });

  it('is full at 4 MiB', async () => {
    const { id } = await alice.conversations.create();
    const add = () => refusal(alice.conversations.items.create(id, { items: [user('x'.repeat(900_000))] }));
    for (let count = 0; count < 4; count += 1) expect(await add()).toBeNull();
    expect(await add()).toMatchObject({ status: 400, code: 'conversation_too_long' });
  });

  it('is full at 5,000 items', async () => {
    const { id } = await alice.conversations.create();
    const item = JSON.stringify({
      type: 'message',
      role: 'user',
      status: 'completed',
      content: [{ type: 'input_text', text: 'x' }],
    });
    await here.sql(
      `INSERT INTO conversation_items (id, thread_id, position, item, created_by)
         SELECT gen_random_uuid(), $1, n, $2::jsonb, $3 FROM generate_series(1, 4999) n`,
      ...[id.replace('conv_', ''), item, here.people.alice.subject],
    );
    const add = () => refusal(alice.conversations.items.create(id, { items: [user('one more')] }));
    expect(await add()).toBeNull();
    expect(await add()).toMatchObject({ status: 400, code: 'conversation_too_long' });
  });
});

describe('a response in a conversation', () => {
  it('comes after the items of the conversation, and adds its input and its answer', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create({ items: [user('I am Ann.')] });
    here.model.script(says('Hello Ann.'), says('Three.'));
    const first = await alice.responses.create({ model, input: 'Greet me.', instructions: 'Be kind.', conversation: id });
    expect(first.conversation).toEqual({ id });
    const stream = await alice.responses.create({ model, input: [user('Count.')], conversation: { id }, stream: true });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { conversation: { id } } });
    expect(given()).toEqual([
      ...[
        ['user', 'I am Ann.'],
        ['user', 'Greet me.'],
        ['assistant', 'Hello Ann.'],
      ],
      ['user', 'Count.'],
    ]);
    expect(await texts(id)).toEqual([
      ...[
        ['user', 'I am Ann.'],
        ['user', 'Greet me.'],
        ['assistant', 'Hello Ann.'],
      ],
      ...[
        ['user', 'Count.'],
        ['assistant', 'Three.'],
      ],
    ]);
    const { output } = await alice.responses.retrieve(first.id);
    expect(await alice.conversations.items.retrieve(output[0]!.id!, { conversation_id: id })).toMatchObject({
      content: [{ text: 'Hello Ann.' }],
    });
    expect(
      await refusal(alice.responses.create({ model, input: 'x', conversation: id, previous_response_id: first.id })),
    ).toMatchObject({
      status: 400,
      code: 'mutually_exclusive_parameters',
    });
  });

  it('is added once by repeated requests', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create();
    here.model.script(says('Once.'));
    const repeated = { headers: { 'Idempotency-Key': 'conversation-once' } };
    const ask = () => alice.responses.create({ model, input: 'Say it.', conversation: id }, repeated);
    const first = await ask();
    expect((await ask()).id).toBe(first.id);
    expect(await texts(id)).toEqual([
      ['user', 'Say it.'],
      ['assistant', 'Once.'],
    ]);
    const adding = { headers: { 'Idempotency-Key': 'items-once' } };
    for (let count = 0; count < 2; count += 1) await alice.conversations.items.create(id, { items: [user('More.')] }, adding);
    expect(await texts(id)).toHaveLength(3);
  });

  it('is the only one at a time, and adds nothing if it fails', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create();
    here.model.script(hangs('Some'));
    const running = await alice.responses.create({ model, input: 'x', conversation: id, background: true });
    expect(running.conversation).toEqual({ id });
    const locked = { status: 409, code: 'conversation_locked' };
    expect(await refusal(alice.responses.create({ model, input: 'y', conversation: id }))).toMatchObject(locked);
    expect(await refusal(alice.conversations.items.create(id, { items: [user('y')] }))).toMatchObject(locked);
    expect(await texts(id)).toEqual([]);
    await alice.responses.cancel(running.id);
    here.model.script(fails(400));
    expect((await alice.responses.create({ model, input: 'z', conversation: id })).status).toBe('failed');
    expect(await texts(id)).toEqual([]);
    here.model.script(says('Fine.'));
    const both = [1, 2].map((n) => alice.responses.create({ model, input: `At once ${n}`, conversation: id, background: true }));
    const done = await Promise.allSettled(both);
    expect(done.filter(({ status }) => status === 'rejected').map((one) => (one as PromiseRejectedResult).reason)).toEqual([
      expect.objectContaining(locked),
    ]);
    await until('the answer is added', async () => (await texts(id)).length === 2);
  });

  it('is refused if another response has taken the items that waited', async () => {
    const model = await here.workflow();
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${model}`));
    const { id } = await alice.conversations.create({ items: [user('First.')] });
    const thread_id = id.slice('conv_'.length);
    const { conversations } = here.core.store;
    const [item] = await conversations.listWaiting(thread_id, { order: 'asc' });
    const target = { turns: [], workflow_id: model, agent: { id: agent_id, name: 'a' } };
    await conversations.take(thread_id, [item!.id], target);
    await expect(conversations.take(thread_id, [item!.id], target)).rejects.toMatchObject({ code: 'conversation_locked' });
  });

  it('continues with the results of its functions', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create();
    const other = await alice.conversations.create();
    const parameters = { type: 'object', properties: {} };
    const tools = [{ type: 'function' as const, name: 'look_up', parameters, strict: false }];
    here.model.script(asks({ name: 'look_up', args: {} }), says('It is 7.'));
    const first = await alice.responses.create({ model, input: 'Look.', conversation: id, tools });
    const [call] = first.output.filter((item) => item.type === 'function_call');
    const input = [{ type: 'function_call_output' as const, call_id: call!.call_id, output: '7' }];
    expect(await refusal(alice.responses.create({ model, input, conversation: other.id, tools }))).toMatchObject({
      status: 400,
      param: 'conversation',
    });
    const second = await alice.responses.create({ model, input, conversation: id, tools });
    expect(second).toMatchObject({ id: first.id, output_text: 'It is 7.', conversation: { id } });
    expect(await texts(id)).toEqual([
      ['user', 'Look.'],
      ['function_call', ''],
      ['function_call_output', '7'],
      ['assistant', 'It is 7.'],
    ]);
  });

  it('keeps the files of items and of inputs', async () => {
    const model = await here.workflow();
    const image_url = `data:image/png;base64,${Buffer.from(PNG).toString('base64')}`;
    const seen = { type: 'input_image' as const, image_url, detail: 'auto' as const };
    const look = { role: 'user' as const, content: [{ type: 'input_text' as const, text: 'Look.' }, seen] };
    const { id } = await alice.conversations.create({ items: [look] });
    here.model.script(says('A dot.'), says('Both.'));
    await alice.responses.create({ model, input: [look], conversation: id });
    await alice.responses.create({ model, input: 'Compare.', conversation: id });
    const image = { type: 'image_url', image_url: { url: image_url } };
    const shown = ['user', [{ type: 'text', text: 'Look.' }, image]];
    expect(given()).toEqual([shown, shown, ['assistant', 'A dot.'], ['user', 'Compare.']]);
    const { data } = await alice.conversations.items.list(id, { order: 'asc' });
    const kept = data.slice(0, 2).map((item) => (item as unknown as { content: { file_id: string }[] }).content[1]!.file_id);
    expect(new Set(kept).size).toBe(2);
    for (const file_id of kept) expect((await here.alice.del(`/api/attachments/${file_id}`)).status).toBe(409);
  });

  it('outlives its conversation', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create();
    here.model.script(says('Still here.'));
    const { id: response_id } = await alice.responses.create({ model, input: 'x', conversation: id });
    await alice.conversations.delete(id);
    expect(await alice.responses.retrieve(response_id)).toMatchObject({ output_text: 'Still here.', conversation: { id } });
  });
});
