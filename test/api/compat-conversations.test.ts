import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';
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

/** What the model was sent, of each message its role and its content. */
const sent = () => here.model.requests.at(-1)!.messages.map(({ role, content }) => [role, content]);
const given = () => sent().slice(1);

describe('previous_response_id', () => {
  it('continues the conversation so far, without the instructions of earlier turns', async () => {
    const model = await here.workflow();
    here.model.script(says('Hello Ann.'), says('Ann.'), says('Three letters.'));
    const first = await alice.responses.create({ model, input: 'I am Ann.', instructions: 'Be kind.' });
    expect(sent()[0]![1]).toContain('Be kind.');
    const second = await alice.responses.create({ model, input: 'Who am I?', previous_response_id: first.id });
    expect(second.output_text).toBe('Ann.');
    const begin = [
      ['user', 'I am Ann.'],
      ['assistant', 'Hello Ann.'],
      ['user', 'Who am I?'],
    ];
    expect(given()).toEqual(begin);
    const third = { model, input: [{ role: 'user' as const, content: 'How long?' }], instructions: 'Count.' };
    await alice.responses.create({ ...third, previous_response_id: second.id });
    expect(given()).toEqual([...begin, ['assistant', 'Ann.'], ['user', 'How long?']]);
    expect(sent()[0]![1]).toContain('Count.');
    expect(JSON.stringify(sent())).not.toContain('Be kind.');
  });

  it('continues a run that did not begin at /v1, and one of another model', async () => {
    const task_id = await here.prompt(await here.workflow(), 'Remember 7.');
    here.model.script(says('Noted.'), says('7.'));
    await here.ended(task_id);
    await alice.responses.create({ model: await here.workflow(), input: 'Which?', previous_response_id: `resp_${task_id}` });
    expect(given()).toEqual([
      ['user', 'Remember 7.'],
      ['assistant', 'Noted.'],
      ['user', 'Which?'],
    ]);
  });

  it('branches off from a response in a conversation, as it was at that time, and leaves the conversation as it is', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create({ items: [{ role: 'user', content: 'I am Ann.' }] });
    here.model.script(says('Hello Ann.'), says('Later.'), says('Aside.'), says('Further.'));
    const first = await alice.responses.create({ model, input: 'Greet me.', conversation: id });
    await alice.responses.create({ model, input: 'And then?', conversation: id });
    const kept = (await alice.conversations.items.list(id)).data.map((item) => item.id);
    const aside = await alice.responses.create({ model, input: 'Who am I?', previous_response_id: first.id });
    expect([aside.output_text, aside.conversation]).toEqual(['Aside.', null]);
    const before = [
      ['user', 'I am Ann.'],
      ['user', 'Greet me.'],
      ['assistant', 'Hello Ann.'],
      ['user', 'Who am I?'],
    ];
    expect(given()).toEqual(before);
    await alice.responses.create({ model, input: 'Sure?', previous_response_id: aside.id });
    expect(given()).toEqual([...before, ['assistant', 'Aside.'], ['user', 'Sure?']]);
    expect((await alice.conversations.items.list(id)).data.map((item) => item.id)).toEqual(kept);
  });

  it('takes two continuations of one response at the same time, which do not wait for each other', async () => {
    const model = await here.workflow();
    here.model.script(says('One.'), hangs('Slow'), says('Quick.'));
    const first = await alice.responses.create({ model, input: 'Begin.' });
    const before = here.model.requests.length;
    const slow = await alice.responses.create({ model, input: 'Left.', previous_response_id: first.id, background: true });
    await until('the slow one asks its model', async () => here.model.requests.length > before);
    const quick = await alice.responses.create({ model, input: 'Right.', previous_response_id: first.id });
    expect(quick.output_text).toBe('Quick.');
    expect(given()).toEqual([
      ['user', 'Begin.'],
      ['assistant', 'One.'],
      ['user', 'Right.'],
    ]);
    expect((await alice.responses.retrieve(slow.id)).status).toBe('in_progress');
    const thread_id = first.id.slice('resp_'.length);
    const { body } = await here.alice.get(`/api/tasks?thread_id=${thread_id}`);
    expect(body.map(({ thread_turn, previous_task_id }: any) => [thread_turn, previous_task_id])).toEqual([
      [2, thread_id],
      [2, thread_id],
      [1, null],
    ]);
    await alice.responses.cancel(slow.id);
  });

  it('is answered 20 times at once', async () => {
    const model = await here.workflow();
    here.model.script(says('One.'), ...Array.from({ length: 20 }, () => says('Two.')));
    const first = await alice.responses.create({ model, input: 'Begin.' });
    const next = () => alice.responses.create({ model, input: 'Continue.', previous_response_id: first.id });
    const answers = await Promise.all(Array.from({ length: 20 }, next));
    expect(answers.map(({ output_text }) => output_text)).toEqual(answers.map(() => 'Two.'));
  });

  it('names a response of the caller that has completed', async () => {
    const model = await here.workflow();
    const next = (client: OpenAI, previous_response_id: string, of = model) =>
      refusal(client.responses.create({ model: of, input: 'y', previous_response_id }));
    const unknown = { status: 404, code: 'previous_response_not_found', param: 'previous_response_id' };
    here.model.script(says('One.'));
    const { id } = await alice.responses.create({ model, input: 'x' });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${model}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    expect(await next(bob, id, name)).toMatchObject(unknown);
    for (const wrong of [
      'resp_0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
      'resp_x',
      id.replace('resp_', ''),
      id.replace('resp', 'msg'),
    ])
      expect(await next(alice, wrong)).toMatchObject(unknown);
    here.model.script(fails(400));
    const failed = (await alice.responses.create({ model, input: 'x' })).id;
    expect(await next(alice, failed)).toMatchObject({ status: 400, code: 'previous_response_failed' });
    here.model.script(hangs('Some'));
    const running = await alice.responses.create({ model, input: 'x', background: true });
    expect(await next(alice, running.id)).toMatchObject({ status: 409, code: 'in_progress' });
    await alice.responses.cancel(running.id);
  });
});
