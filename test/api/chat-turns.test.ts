import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { startSecondApi } from '../support/runs/second-api.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let chat: string;
beforeAll(async () => {
  here = await startTestInstallation();
  const values = { name: 'scripted', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values));
  const { id } = await here.alice.ok(here.alice.post('/api/agents', { name: 'Ada', provider_id }));
  chat = `/api/agents/${id}/chat`;
});
afterAll(() => here?.stop());

const said = () =>
  here.model.requests
    .at(-1)!
    .messages.filter(({ role }) => role !== 'system')
    .map(({ content }) => content);

/** Asks twice at once, the second while the model writes the reply to the first; what the second was asked with, and the session. */
async function askedAtOnce(first: Client, second: Client) {
  here.model.script(says('Hello.'));
  const opening = await first.post(chat, { message: 'Hi.' });
  const session_id = /"session_id":"([^"]+)"/.exec(String(opening.body))![1]!;
  const session = () => first.ok(first.get(`${chat}/sessions/${session_id}`));
  const asked = here.model.requests.length;
  const release = Promise.withResolvers<void>();
  here.model.script(says('First reply.', { until: release.promise }), says('Second reply.'));
  const replies = [first.post(chat, { message: 'First?', session_id })];
  await until('the model is asked', async () => here.model.requests.length > asked);
  replies.push(second.post(chat, { message: 'Second?', session_id }));
  await until('the second is stored', async () => (await session()).message_count === 4);
  expect(here.model.requests.length).toBe(asked + 1);
  release.resolve();
  for (const reply of await Promise.all(replies)) expect(reply.body).toContain('"type":"done"');
  return session();
}

const TALK = ['Hi.', 'Hello.', 'First?', 'First reply.', 'Second?', 'Second reply.'];

it('two messages at once are answered in turn, each with the replies before it, and are stored as question and answer', async () => {
  const { messages } = await askedAtOnce(here.alice, here.alice);
  expect(messages.map(({ content }: { content: string }) => content)).toEqual(TALK);
  expect(said()).toEqual(TALK.slice(0, -1));
  const ids = messages.map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

it('the same is true of messages to two servers', async () => {
  const { alice, stop } = await startSecondApi(here);
  const { messages } = await askedAtOnce(here.alice, alice);
  expect(messages.map(({ content }: { content: string }) => content)).toEqual(TALK);
  expect(said()).toEqual(TALK.slice(0, -1));
  await stop();
});
