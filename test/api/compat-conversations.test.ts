import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  alice = openaiAt(here.url, here.people.alice.token);
  bob = openaiAt(here.url, here.people.bob.token);
});
afterAll(() => here.stop());

const lastPrompt = () => here.model.requests.at(-1)?.messages.at(-1)?.content;
const said = (role: string, text: string) => `<message role="${role}">\n${text}\n</message>`;

describe('previous_response_id', () => {
  it('puts the conversation so far before the input, without the instructions of earlier turns', async () => {
    const model = await here.workflow();
    here.model.script(says('Hello Ann.'), says('Ann.'), says('Three letters.'));
    const first = await alice.responses.create({ model, input: 'I am Ann.', instructions: 'Be kind.' });
    const second = await alice.responses.create({ model, input: 'Who am I?', previous_response_id: first.id });
    expect(second.output_text).toBe('Ann.');
    const begin = [said('user', 'I am Ann.'), said('assistant', 'Hello Ann.')];
    expect(lastPrompt()).toBe(`${begin.join('\n')}\n\nWho am I?`);
    const third = { model, input: [{ role: 'user' as const, content: 'How long?' }], instructions: 'Count.' };
    await alice.responses.create({ ...third, previous_response_id: second.id });
    const rest = [said('user', 'Who am I?'), said('assistant', 'Ann.')];
    expect(lastPrompt()).toBe(`${[said('system', 'Count.'), ...begin, ...rest].join('\n')}\n\nHow long?`);
  });

  it('continues a run that did not begin at /v1, and one of another model', async () => {
    const task_id = await here.prompt(await here.workflow(), 'Remember 7.');
    here.model.script(says('Noted.'), says('7.'));
    await here.ended(task_id);
    await alice.responses.create({ model: await here.workflow(), input: 'Which?', previous_response_id: `resp_${task_id}` });
    expect(lastPrompt()).toBe(`${said('user', 'Remember 7.')}\n${said('assistant', 'Noted.')}\n\nWhich?`);
  });

  it('branches off from a response in a conversation, as it was at that time, and leaves the conversation as it is', async () => {
    const model = await here.workflow();
    const { id } = await alice.conversations.create({ items: [{ role: 'user', content: 'I am Ann.' }] });
    here.model.script(says('Hello Ann.'), says('Later.'), says('Aside.'));
    const first = await alice.responses.create({ model, input: 'Greet me.', conversation: id });
    await alice.responses.create({ model, input: 'And then?', conversation: id });
    const [earliest] = (await alice.conversations.items.list(id, { order: 'asc' })).data;
    await alice.conversations.items.delete(earliest!.id!, { conversation_id: id });
    const kept = (await alice.conversations.items.list(id)).data.map((item) => item.id);
    const aside = await alice.responses.create({ model, input: 'Who am I?', previous_response_id: first.id });
    expect([aside.output_text, aside.conversation]).toEqual(['Aside.', null]);
    const before = [said('user', 'I am Ann.'), said('user', 'Greet me.'), said('assistant', 'Hello Ann.')];
    expect(lastPrompt()).toBe(`${before.join('\n')}\n\nWho am I?`);
    expect((await alice.conversations.items.list(id)).data.map((item) => item.id)).toEqual(kept);
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
