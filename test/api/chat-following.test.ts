import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess } from '../support/machine/processes.ts';
import { fails } from '../support/peers/model-server.ts';
import { createChatAgent, STOPPED, startHangingReply } from '../support/runs/hanging-reply.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = await createChatAgent(here);
});
afterAll(() => here?.stop());

const hanging = (by: { client: Client; token: string } = { client: here.alice, token: ALICE }) =>
  startHangingReply(here, { agent_id, said: 'A beginning', ...by });

/** The events of a stream that has ended, with their numbers. */
const eventsIn = (body: unknown) =>
  [...String(body).matchAll(/id: (\d+)\ndata: (.*)/g)].map(([, id, data]) => ({ id: Number(id), ...JSON.parse(data!) }));

/** Follows a reply to its end, which `end` causes once its beginning was read. */
async function follow(client: Client, token: string, stream: string, end: () => Promise<unknown>) {
  const answer = await fetch(`${client.url}${stream}`, { headers: { authorization: `Bearer ${token}` } });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('A beginning')) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The stream ended early: ${answer.status} ${text}`);
    text += value;
  }
  await end();
  for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
  return eventsIn(text);
}

it('shows a reply in progress, continues it for another reader, and after its end resumes it for a while', async () => {
  const { stop, whole, stored } = await hanging();
  const stream = stop.replace('/stop', '/stream');
  const { messages, reply } = await stored();
  expect(messages).toMatchObject([{ role: 'user', content: 'Talk.', error: null }]);
  expect(reply).toMatchObject({ question_id: messages[0].id });
  const events = await follow(here.alice, ALICE, stream, () => here.alice.ok(here.alice.post(stop)));
  await whole();
  const after = await stored();
  expect(after).toMatchObject({ messages: STOPPED, reply: null });
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['session', 'delta', 'done']));
  expect(
    events
      .filter(({ type }) => type === 'delta')
      .map(({ content }) => content)
      .join(''),
  ).toBe('A beginning');
  expect(events.at(-1)).toMatchObject({ type: 'done', message_id: after.messages[1].id });
  expect((await here.alice.get(stream)).status).toBe(204);
  const resumed = await here.alice.get(stream, { 'last-event-id': String(events.at(-1)!.id - 1) });
  expect(eventsIn(resumed.body)).toEqual(events.slice(-1));
});

it('is not shown to another person', async () => {
  const { stop, whole } = await hanging();
  expect((await here.bob.get(stop.replace('/stop', '/stream'))).status).toBe(403);
  expect((await here.bob.get(stop.replace('/stop', ''))).status).toBe(403);
  await here.alice.ok(here.alice.post(stop));
  await whole();
  expect(BOB).not.toBe(ALICE);
});

it('keeps on record why a reply failed', async () => {
  here.model.script(fails(401));
  const { body } = await here.alice.post(`/api/agents/${agent_id}/chat`, { message: 'Hi.' });
  const [session, error] = eventsIn(body);
  const { messages } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}/chat/sessions/${session!.session_id}`));
  expect(messages).toMatchObject([{ role: 'user', error: error!.message }]);
});

/** With an address where no Redis is, no notice reaches another process. */
it.each([
  ['by the bus', {}],
  ['by the record alone', { REDIS_URL: 'redis://127.0.0.1:1' }],
])('follows and stops a reply that another API process is writing, %s', { timeout: 60_000 }, async (_, env) => {
  const [writer, other] = await Promise.all([startApiProcess(here.setting, env), startApiProcess(here.setting, env)]);
  const { stop, whole } = await hanging(writer);
  const stream = stop.replace('/stop', '/stream');
  const events = await follow(other.client, other.token, stream, () => other.client.ok(other.client.post(stop)));
  expect(
    events
      .filter(({ type }) => type === 'delta')
      .map(({ content }) => content)
      .join(''),
  ).toBe('A beginning');
  expect(events.at(-1)).toMatchObject({ type: 'done' });
  await whole();
  await Promise.all([writer.api.end('SIGTERM'), other.api.end('SIGTERM')]);
});
