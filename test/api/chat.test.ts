import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventOf, framesIn } from '../support/client.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = await agent();
});
afterAll(() => here?.stop());

let made = 0;
async function agent(provider: object = {}): Promise<string> {
  const name = `chat ${++made}`;
  const values = { name, provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted', ...provider };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values));
  return (await here.alice.ok(here.alice.post('/api/agents', { name, provider_id, system_prompt: 'You are Ada.' }))).id;
}

interface Sent {
  to?: string;
  token?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}
const path = (to: string) => `/api/agents/${to}/chat`;
const post = (body: object, { to = agent_id, token = ALICE, headers = {}, signal }: Sent = {}) =>
  fetch(`${here.url}${path(to)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });

async function chat(body: object, sent: Sent = {}) {
  const answer = await post(body, sent);
  const events: any[] = framesIn(await answer.text()).map(eventOf);
  return { answer, events, session_id: events[0]?.session_id as string };
}
/** The text that the deltas make up. */
const textOf = (events: any[]) => events.map(({ content = '' }) => content).join('');
const session = (id: string) => here.alice.ok(here.alice.get(`${path(agent_id)}/sessions/${id}`));

it('asks no other provider if that of the agent does not exist', async () => {
  const provider_id = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be998';
  const items = [{ name: `chat ${++made}`, provider_id }];
  const { ids } = await here.alice.ok(here.alice.post('/api/agents/import', { items }), 201);
  const asked = here.model.requests.length;
  const { events } = await chat({ message: 'Hello' }, { to: ids[0] });
  expect(events.at(-1)).toMatchObject({
    type: 'error',
    message: expect.stringContaining('does not exist; give the agent another'),
  });
  expect(here.model.requests.length).toBe(asked);
});

it('asks the default model of the installation, with the access token of the caller, for an agent without a model', async () => {
  const { id } = await here.alice.ok(here.alice.post('/api/agents', { name: `chat ${++made}` }));
  here.model.script(says('Good morning.'));
  const { events } = await chat({ message: 'Hello' }, { to: id });
  expect(events.at(-1)).toMatchObject({ type: 'done' });
  expect(here.model.requests.at(-1)).toMatchObject({ model: 'default-model', authorization: `Bearer ${ALICE}` });
});

it('streams session, deltas and done with ids from 1, and stores both messages', async () => {
  here.model.script(says('Hello there, friend.'));
  const { answer, events, session_id } = await chat({ message: `  ${'Hi '.repeat(60)}` });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['session', 'delta', 'done']));
  expect(textOf(events)).toBe('Hello there, friend.');
  expect(events.at(-1)).toMatchObject({ usage: { prompt_tokens: 10, completion_tokens: 5 } });
  const stored = await session(session_id);
  expect(stored).toMatchObject({ agent_id, message_count: 2, title: 'Hi '.repeat(60).slice(0, 80).trim() });
  expect(stored.messages).toMatchObject([
    { role: 'user', usage: null },
    {
      id: events.at(-1).message_id,
      role: 'assistant',
      content: 'Hello there, friend.',
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    },
  ]);
});

it('marks the tokens of a reply as estimated if the model server reports none, and only then', async () => {
  here.model.script(says('Hello there.', { usage: null as never }), says('And again.'));
  const { events, session_id } = await chat({ message: 'Hi.' });
  const estimated = { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number), estimated: true };
  expect(events.at(-1).usage).toEqual(estimated);
  await chat({ message: 'Hi again.', session_id });
  const { messages } = await session(session_id);
  expect(messages.map(({ usage }: any) => usage)).toEqual([null, estimated, null, { prompt_tokens: 10, completion_tokens: 5 }]);
});

it('sends the model the agent’s persona and the whole conversation, and no tools', async () => {
  here.model.script(says('Four.'), says('Five.'));
  const { session_id } = await chat({ message: 'Two and two?' });
  await chat({ message: 'And one?', session_id });
  const { messages, tools } = here.model.requests.at(-1)!;
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ['system', 'You are Ada.'],
    ['user', 'Two and two?'],
    ['assistant', 'Four.'],
    ['user', 'And one?'],
  ]);
  expect(tools).toBeUndefined();
});

it('finishes and stores the reply of a client that has left', async () => {
  const left = Promise.withResolvers<void>();
  here.model.script(says('one two three four five', { until: left.promise }));
  const gone = new AbortController();
  const answer = await post({ message: 'Count.' }, { signal: gone.signal });
  await answer.body!.getReader().read();
  gone.abort();
  left.resolve();
  const newest = (await here.alice.ok(here.alice.get(`${path(agent_id)}/sessions`)))[0];
  const stored = await until('the reply', async () => {
    const found = await session(newest.id);
    return found.messages.length === 2 && found;
  });
  expect(stored.messages[1].content).toBe('one two three four five');
});

it('reports a provider failure as an error event', async () => {
  here.model.script(fails(400, { message: 'not today' }));
  const { answer, events } = await chat({ message: 'Hello?' });
  expect(answer.status).toBe(200);
  expect(events.at(-1)).toMatchObject({ type: 'error', message: expect.stringContaining('not today') });
});

it('answers 400, 403, 404 and 422 as the interface documents', async () => {
  here.model.script(says('ok'));
  const { session_id } = await chat({ message: 'Mine.' });
  const other = await agent();
  const unknown = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
  const status = async (body: object, sent?: Sent) => (await post(body, sent)).status;
  expect(await status({ message: 'x', session_id }, { to: other })).toBe(400);
  expect(await status({ message: 'x', session_id }, { token: BOB })).toBe(403);
  expect(await status({ message: 'x', session_id: unknown })).toBe(404);
  expect(await status({ message: 'x', session_id: 'nonsense' })).toBe(404);
  expect(await status({ message: 'x' }, { to: unknown })).toBe(404);
  expect(await status({ message: '' })).toBe(422);
  expect(await status({ message: 'x' }, { token: 'nobody' })).toBe(401);
  const one = `${path(agent_id)}/sessions/${session_id}`;
  expect((await here.bob.get(one)).status).toBe(403);
  expect((await here.bob.del(one)).status).toBe(403);
  expect((await here.alice.del(one)).status).toBe(204);
  expect((await here.alice.get(one)).status).toBe(404);
});

it('lists one’s own sessions, newest first, by skip and limit', async () => {
  const mine = await agent();
  here.model.always(says('ok'));
  const ids: string[] = [];
  for (const message of ['a', 'b', 'c']) ids.unshift((await chat({ message }, { to: mine })).session_id);
  await chat({ message: 'd' }, { to: mine, token: BOB });
  const { body, headers } = await here.alice.get(`${path(mine)}/sessions?skip=1&limit=1`);
  expect((body as any[]).map(({ id }) => id)).toEqual([ids[1]]);
  expect(headers.get('x-total-count')).toBe('3');
});

it('gives the same reply for the same Idempotency-Key, and asks the model once', async () => {
  here.model.script(says('Only once.'));
  const before = here.model.requests.length;
  const headers = { 'idempotency-key': `chat-${Date.now()}` };
  const first = await chat({ message: 'Say it.' }, { headers });
  const second = await chat({ message: 'Say it.' }, { headers });
  expect(second.answer.headers.get('idempotent-replayed')).toBe('true');
  expect(second.events.map(({ type }) => type)).toEqual(['session', 'delta', 'done']);
  expect(second.events.at(-1).message_id).toBe(first.events.at(-1).message_id);
  expect(here.model.requests.length).toBe(before + 1);
  expect((await post({ message: 'Another.' }, { headers })).status).toBe(409);
  expect(second.events.at(-1)).not.toHaveProperty('truncated');
  here.model.script(says('Cut o', { finish: 'length' }));
  const cut = { headers: { 'idempotency-key': `cut-${Date.now()}` } };
  for (const _ of ['first', 'second'])
    expect((await chat({ message: 'More.' }, cut)).events.at(-1)).toMatchObject({ truncated: true });
});
