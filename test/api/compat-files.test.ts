import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';
import { GIF, JPEG, PDF, PNG } from '../support/runs/attachments.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ATTACHMENT_MAX_MB: '0.01', ATTACHMENTS_PER_PROMPT: '3', JUDGE_SECONDS: '50' } });
  alice = openaiAt(here.url, ALICE);
  bob = openaiAt(here.url, BOB);
});
afterAll(() => here?.stop());

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
const urlOf = (type: string, content: Uint8Array | string) => `data:${type};base64,${Buffer.from(content).toString('base64')}`;
const PNG_URL = urlOf('image/png', PNG);
const imagePart = (url = PNG_URL) => ({ type: 'image_url' as const, image_url: { url } });
const userWith = (...content: object[]) => ({ role: 'user', content }) as Message;
const text = (words: string) => ({ type: 'text' as const, text: words });
const tasksOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`))) as unknown as { id: string }[];
const taskOf = (id: string) => here.alice.ok(here.alice.get(`/api/tasks/${id.replace(/^(chatcmpl-|resp_)/, '')}`));
const namesOf = (task: Record<string, unknown>) => (task.attachments as { name: string }[]).map(({ name }) => name);
const storedFiles = async () => {
  const { rows } = await here.core.database.pool.query<{ count: number }>('SELECT count(*)::int AS count FROM attachments');
  return rows[0]!.count;
};
/** What the model was given with the prompt last. */
const given = () => here.model.requests.at(-1)!.messages.find(({ role }) => role === 'user')?.content as unknown;
const uploaded = async (name: string, content: string | Uint8Array) => {
  const form = new FormData();
  form.set('file', new File([Buffer.from(content)], name));
  return (await here.alice.ok(here.alice.post('/api/attachments', form), 201)) as { id: string };
};
const agentOf = async (workflow_id: string) => {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  return (await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).name as string;
};

describe('images and files of a request', () => {
  it('are given to the model of a completion with the prompt', async () => {
    const model = await here.workflow();
    here.model.script(says('A dot.'));
    const bill = { type: 'file', file: { filename: 'bill.pdf', file_data: urlOf('application/pdf', PDF) } };
    const notes = { type: 'file', file: { filename: 'notes.md', file_data: Buffer.from('# Buy milk').toString('base64') } };
    const messages = [userWith(text('What is this?'), imagePart(), bill, notes)];
    const { id, choices } = await alice.chat.completions.create({ model, messages });
    expect(choices[0]?.message.content).toBe('A dot.');
    expect(given()).toEqual([
      { type: 'text', text: 'What is this?\n\n<file name="notes.md">\n# Buy milk\n</file>' },
      { type: 'image_url', image_url: { url: PNG_URL } },
      { type: 'file', file: { filename: 'bill.pdf', file_data: urlOf('application/pdf', PDF) } },
    ]);
    const task = await taskOf(id);
    expect(task.prompt).toBe('What is this?');
    expect(namesOf(task)).toEqual(['image.png', 'bill.pdf', 'notes.md']);
  });

  it('of earlier messages are kept, and numbered where they were; a message may have nothing else', async () => {
    const model = await here.workflow();
    here.model.script(says('Two.'));
    const messages: Message[] = [
      userWith(text('Look.'), imagePart()),
      { role: 'assistant', content: 'Nice.' },
      userWith({ ...imagePart(urlOf('image/gif', GIF)), image_url: { url: urlOf('image/gif', GIF), detail: 'auto' } }),
    ];
    await alice.chat.completions.create({ model, messages });
    const before = '<message role="user" files="1">\nLook.\n</message>\n<message role="assistant">\nNice.\n</message>';
    expect(given()).toEqual([
      { type: 'text', text: `${before}\n\n[see the file]` },
      { type: 'image_url', image_url: { url: PNG_URL } },
      { type: 'image_url', image_url: { url: urlOf('image/gif', GIF) } },
    ]);
  });

  it('are given to the model of a response, and again with previous_response_id', async () => {
    const model = await here.workflow();
    here.model.script(says('A dot.'), says('A bill.'), says('Both.'));
    const seen = { type: 'input_image' as const, image_url: PNG_URL, detail: 'auto' as const };
    const first = await alice.responses.create({
      model,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is this?' }, seen] }],
    });
    const bill = { type: 'input_file' as const, filename: 'bill.pdf', file_data: urlOf('application/pdf', PDF) };
    const second = await alice.responses.create({
      model,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'And this?' }, bill] }],
      previous_response_id: first.id,
    });
    const third = await alice.responses.create({ model, input: 'Compare.', previous_response_id: second.id });
    expect(third.output_text).toBe('Both.');
    const sent = here.model.requests.at(-1)!.messages.slice(1);
    expect(sent.map(({ content }) => content)).toEqual([
      [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: PNG_URL } },
      ],
      'A dot.',
      [
        { type: 'text', text: 'And this?' },
        { type: 'file', file: { filename: 'bill.pdf', file_data: urlOf('application/pdf', PDF) } },
      ],
      'A bill.',
      'Compare.',
    ]);
    expect((await taskOf(third.id)).attachments).toEqual([]);
    const other = { model: await agentOf(model), input: 'x', previous_response_id: second.id };
    expect(await refusal(bob.responses.create(other))).toMatchObject({ status: 404, code: 'previous_response_not_found' });
  });

  it('are named by the id of an upload, by the one who made it', async () => {
    const model = await here.workflow();
    const image = await uploaded('cat.png', PNG);
    const notes = await uploaded('notes.md', 'Buy milk.');
    here.model.script(says('A cat.'), says('A cat.'));
    const messages = [userWith(text('x'), { type: 'file', file: { file_id: notes.id } })];
    const { id } = await alice.chat.completions.create({ model, messages });
    expect(namesOf(await taskOf(id))).toEqual(['notes.md']);
    const seen = { type: 'input_image' as const, file_id: image.id, detail: 'auto' as const };
    const input = [{ role: 'user' as const, content: [seen] }];
    expect(namesOf(await taskOf((await alice.responses.create({ model, input })).id))).toEqual(['cat.png']);
    const other = await agentOf(model);
    expect(await refusal(bob.chat.completions.create({ model: other, messages }))).toMatchObject({ status: 404 });
    expect(await refusal(bob.responses.create({ model: other, input }))).toMatchObject({ status: 404 });
  });

  it('are stored once by repeated requests with a key', async () => {
    const model = await here.workflow();
    here.model.script(says('Once.'));
    const before = await storedFiles();
    const order = { model, messages: [userWith(text('x'), imagePart())] };
    const again = { headers: { 'idempotency-key': 'files-1' } };
    const [first, second] = [
      await alice.chat.completions.create(order, again),
      await alice.chat.completions.create(order, again),
    ];
    expect(second.id).toBe(first.id);
    expect(await storedFiles()).toBe(before + 1);
    const changed = { model, messages: [userWith(text('x'), imagePart(urlOf('image/gif', GIF)))] };
    expect(await refusal(alice.chat.completions.create(changed, again))).toMatchObject({ status: 409 });
  });

  it('are not given again with the results of a function', async () => {
    const model = await here.workflow();
    const tools = [{ type: 'function' as const, function: { name: 'look' } }];
    here.model.script(asks({ name: 'look' }), says('Seen.'));
    const before = await storedFiles();
    const first = await alice.chat.completions.create({ model, messages: [userWith(text('x'), imagePart())], tools });
    const { message } = first.choices[0]!;
    const result: Message = { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: 'A dot.' };
    const messages = [userWith(text('x'), imagePart()), message, result];
    const next = await alice.chat.completions.create({ model, messages, tools });
    expect([next.id, next.choices[0]?.message.content]).toEqual([first.id, 'Seen.']);
    expect(await storedFiles()).toBe(before + 1);
  });

  it('are read by guardrails like the prompt', async () => {
    const config = { forbidden_patterns: ['the secret'] };
    const rule = { name: crypto.randomUUID(), guardrail_type: 'prompt', config };
    const guardrail = await here.alice.ok(here.alice.post('/api/guardrails', rule), 201);
    const model = await here.workflow({ workflow: { guardrail_ids: [guardrail.id] } });
    const notes = { type: 'file', file: { filename: 'a.txt', file_data: Buffer.from('the secret').toString('base64') } };
    const refused = await refusal(alice.chat.completions.create({ model, messages: [userWith(text('x'), notes)] }));
    expect(refused).toMatchObject({ status: 400, param: 'messages.0.content.1' });
    expect(await tasksOf(model)).toEqual([]);
  });
});

const document = (file: object) => ({ type: 'file', file: { filename: 'a.txt', ...file } });
const WRONG: [what: string, part: object, expected: object][] = [
  ['an address of an image', imagePart('https://example.com/a.png'), { code: 'unsupported_value', message: /not fetched/ }],
  ['no image at all', imagePart('data:,'), { code: 'unsupported_value' }],
  ['an image that is none', imagePart(urlOf('text/plain', 'x')), { code: 'unsupported_value' }],
  ['an image of another type than it says', imagePart(urlOf('image/png', JPEG)), { code: 'media_type_mismatch' }],
  ['an image of no known type', imagePart(urlOf('image/svg+xml', '<svg/>')), { code: 'unsupported_media_type' }],
  [
    'a level of detail',
    { type: 'image_url', image_url: { url: PNG_URL, detail: 'high' } },
    { code: 'unsupported_value', message: /detail/ },
  ],
  ['sound', { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } }, { code: 'unsupported_content' }],
  ['an address of a file', document({ file_url: 'https://example.com/a.txt' }), { code: 'unsupported_value' }],
  ['a file that is not base64', document({ file_data: '#' }), { code: 'unsupported_value' }],
  ['a file without content', document({}), { code: 'unsupported_value' }],
  ['an empty file', document({ file_data: '' }), { code: 'empty_attachment' }],
  [
    'a file of no known type',
    document({ file_data: Buffer.from([0, 1]).toString('base64') }),
    { code: 'unsupported_media_type' },
  ],
  ['an id of no upload', document({ file_id: 'file-1' }), { code: 'file_not_found' }],
  ['an id and a content', document({ file_id: crypto.randomUUID(), file_data: 'eA==' }), { code: 'unsupported_value' }],
];

describe('what a model would not be given as it was asked', () => {
  it.each(WRONG)('is refused in its place: %s', async (_, part, { message, ...expected }: { message?: RegExp }) => {
    const model = await here.workflow();
    const before = await storedFiles();
    const refused = await refusal(alice.chat.completions.create({ model, messages: [userWith(text('x'), part)] }));
    expect(refused).toMatchObject({ status: 400, type: 'invalid_request_error', ...expected });
    expect(refused?.param).toMatch(/^messages\.0\.content\.1/);
    expect(refused?.message).toMatch(message ?? /\w/);
    expect(await tasksOf(model)).toEqual([]);
    expect(await storedFiles()).toBe(before);
  });

  it('is refused in responses, and in messages that are not of the user', async () => {
    const model = await here.workflow();
    const remote = { type: 'input_image' as const, image_url: 'https://example.com/a.png', detail: 'auto' as const };
    const file = { type: 'input_file' as const, file_url: 'https://example.com/a.pdf' };
    for (const part of [remote, file]) {
      const refused = await refusal(alice.responses.create({ model, input: [{ role: 'user', content: [part] }] }));
      expect(refused).toMatchObject({ status: 400, code: 'unsupported_value', param: 'input.0.content.0' });
    }
    const result = { type: 'function_call_output' as const, call_id: 'call_1', output: [{ ...remote, image_url: PNG_URL }] };
    expect(await refusal(alice.responses.create({ model, input: [result] }))).toMatchObject({
      ...{ status: 400, code: 'unsupported_content', param: 'input.0.output.0' },
    });
    const system = { role: 'system', content: [imagePart()] } as unknown as Message;
    expect(await refusal(alice.chat.completions.create({ model, messages: [system, userWith(text('x'))] }))).toMatchObject({
      ...{ status: 400, code: 'unsupported_content', param: 'messages.0.content.0' },
    });
    expect(await tasksOf(model)).toEqual([]);
  });

  it('is refused beyond the limits of prompts', async () => {
    const model = await here.workflow();
    const four = userWith(text('x'), ...Array.from({ length: 4 }, () => imagePart()));
    expect(await refusal(alice.chat.completions.create({ model, messages: [four] }))).toMatchObject({
      ...{ status: 400, code: 'too_many_attachments', param: 'messages.0.content.4' },
    });
    const large = document({ file_data: Buffer.alloc(11_000, 'a').toString('base64') });
    expect(await refusal(alice.chat.completions.create({ model, messages: [userWith(text('x'), large)] }))).toMatchObject({
      ...{ status: 413, code: 'attachment_too_large', param: 'messages.0.content.1' },
    });
    expect(await tasksOf(model)).toEqual([]);
  });

  it('is refused where the conversation is kept by the vendor', async () => {
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'sessions-key', value: 'canary-sessions-key' }));
    const values = { provider_type: 'anthropic', default_model: 'claude-test', api_key_token_name: 'sessions-key' };
    const provider = await here.alice.ok(here.alice.post('/api/providers', { name: crypto.randomUUID(), ...values }), 201);
    const model = await here.workflow({ agent: { provider_id: provider.id, model: null } });
    expect(await refusal(alice.chat.completions.create({ model, messages: [userWith(text('x'), imagePart())] }))).toMatchObject({
      ...{ status: 400, code: 'attachments_not_supported', param: 'messages.0.content.1' },
    });
  });
});
