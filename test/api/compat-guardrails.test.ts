import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
let guarded: string;
beforeAll(async () => {
  here = await shareInstallation();
  alice = openaiAt(here.url, here.people.alice.token);
  bob = openaiAt(here.url, here.people.bob.token);
  const rule = { name: here.unique('no plans'), guardrail_type: 'prompt', config: { forbidden_patterns: ['secret plan'] } };
  const { id } = await here.alice.ok(here.alice.post('/api/guardrails', rule), 201);
  guarded = await here.workflow({ workflow: { guardrail_ids: [id] } });
});
afterAll(() => here.stop());

const message = (role: string, text: string) => ({ role, content: text }) as never;
const call = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' };
const output = (text: string) => ({ type: 'function_call_output', call_id: 'c1', output: text });
const FORBIDDEN = 'Follow the secret plan.';
const fileOf = (text: string) => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;
const countTasks = async () => Number((await here.sql('SELECT count(*) FROM tasks WHERE workflow_id = $1', guarded))[0].count);

const REQUESTS: [part: string, request: object, param?: string][] = [
  ['its prompt', { input: FORBIDDEN }],
  ['instructions', { instructions: FORBIDDEN, input: 'Go.' }, 'instructions'],
  ['a message of the developer', { input: [message('developer', FORBIDDEN), message('user', 'Go.')] }],
  ['a message of the system', { input: [message('system', FORBIDDEN), message('user', 'Go.')] }],
  [
    'an earlier message of the user',
    { input: [message('user', FORBIDDEN), message('assistant', 'Yes.'), message('user', 'Go.')] },
  ],
  ['an earlier answer', { input: [message('user', 'Hm?'), message('assistant', FORBIDDEN), message('user', 'Go.')] }],
  ['the result of an earlier call', { input: [call, output(FORBIDDEN), message('user', 'Go.')] }],
];

describe('the guardrails of a workflow', () => {
  it.each(REQUESTS)('refuse a response for %s', async (_, request, param = 'prompt') => {
    const before = [await countTasks(), here.model.requests.length];
    const refused = await refusal(alice.responses.create({ model: guarded, ...request }));
    expect(refused).toMatchObject({ status: 422, param, message: expect.stringContaining('forbidden pattern secret plan') });
    expect([await countTasks(), here.model.requests.length]).toEqual(before);
  });

  it('refuse a completion for a message of the system', async () => {
    const messages = [message('system', FORBIDDEN), message('user', 'Go.')];
    expect(await refusal(alice.chat.completions.create({ model: guarded, messages }))).toMatchObject({ status: 422 });
  });

  it('refuse instructions also of a response that follows another one', async () => {
    here.model.script(says('One.'));
    const { id: previous_response_id } = await alice.responses.create({ model: guarded, instructions: 'Count.', input: 'Go.' });
    const next = { model: guarded, previous_response_id, input: 'On.' };
    expect(await refusal(alice.responses.create({ ...next, instructions: FORBIDDEN }))).toMatchObject({
      status: 422,
      param: 'instructions',
    });
  });
});

const ITEMS: [part: string, items: object[]][] = [
  ['a message of the user', [message('user', FORBIDDEN)]],
  ['a message of the developer', [message('developer', FORBIDDEN)]],
  ['an answer', [message('user', 'Hm?'), message('assistant', FORBIDDEN)]],
  ['the arguments of a call', [{ ...call, arguments: JSON.stringify({ about: 'secret plan' }) }, output('3')]],
  ['the result of a call', [call, output(FORBIDDEN)]],
  ['a file', [{ role: 'user', content: [{ type: 'input_file', filename: 'a.txt', file_data: fileOf(FORBIDDEN) }] }]],
];

describe('the items that wait in a conversation', () => {
  it.each(ITEMS)('are checked with the response that would read them: %s', async (_, items) => {
    const { id: conversation } = await alice.conversations.create({ items: items as never });
    const before = [await countTasks(), here.model.requests.length];
    const list = async () => (await alice.conversations.items.list(conversation, { order: 'asc' })).data;
    const waiting = await list();
    const respond = () => alice.responses.create({ model: guarded, conversation, input: 'Go.' });
    expect(await refusal(respond())).toMatchObject({ status: 422, param: 'conversation' });
    // Neither the items nor the conversation have changed, and a second try is refused as well.
    expect(await refusal(respond())).toMatchObject({ status: 422 });
    expect(await list()).toEqual(waiting);
    expect([await countTasks(), here.model.requests.length]).toEqual(before);
    for (const item of waiting) await alice.conversations.items.delete(item.id!, { conversation_id: conversation });
    here.model.script(says('Gone.'));
    expect(await respond()).toMatchObject({ output_text: 'Gone.' });
  });

  it('are not checked for a workflow without guardrails, nor for another person’s', async () => {
    here.model.script(says('One.'), says('Two.'));
    const items = [message('user', FORBIDDEN)];
    const { id: of_alice } = await alice.conversations.create({ items });
    const model = await here.workflow();
    expect(await alice.responses.create({ model, conversation: of_alice, input: 'Go.' })).toMatchObject({ output_text: 'One.' });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${guarded}`));
    const own = await here.bob.ok(here.bob.post('/api/workflows', { agent_id, output_format: 'markdown' }), 201);
    const { id: of_bob } = await bob.conversations.create({ items });
    expect(await bob.responses.create({ model: own.id, conversation: of_bob, input: 'Go.' })).toMatchObject({
      output_text: 'Two.',
    });
  });
});
