import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
  const values = { name: 'scripted', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values));
  agent_id = (await here.alice.ok(here.alice.post('/api/agents', { name: 'Ada', provider_id }))).id;
});
afterAll(() => here?.stop());

const path = (to: string) => `/api/agents/${to}/chat`;

/** Sends a message whose reply hangs after `said`; answers with its session, and what the stream holds when it has ended. */
async function hanging(said: string, { client, token }: { client: Client; token: string }) {
  const asked = here.model.requests.length;
  here.model.script(hangs(said));
  const answer = await fetch(`${client.url}${path(agent_id)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'Talk.' }),
  });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(said || 'session_id')) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The reply ended early: ${answer.status} ${text}`);
    text += value;
  }
  // A reply that is stopped earlier would leave its answer to the next test.
  await until('the model is asked', async () => here.model.requests.length > asked);
  const stop = `${path(agent_id)}/sessions/${/"session_id":"([^"]+)"/.exec(text)![1]}/stop`;
  const whole = async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    return [...text.matchAll(/"type":"(\w+)"/g)].map(([, type]) => type);
  };
  return { stop, whole, stored: () => client.ok(client.get(stop.replace('/stop', ''))) };
}

const REPLIED = [
  { role: 'user', content: 'Talk.' },
  { role: 'assistant', content: 'A beginning' },
];

it('stops a reply, keeps the text so far, and ends the request to the model', async () => {
  const aborted = here.model.aborted();
  const { stop, whole, stored } = await hanging('A beginning', { client: here.alice, token: ALICE });
  expect((await here.bob.post(stop)).status).toBe(403);
  expect((await here.alice.post(stop)).body).toEqual({ status: 'stop_requested', session_id: (await stored()).id });
  expect(await whole()).toEqual(['session', 'delta', 'done']);
  await until('the end of the request', async () => here.model.aborted() === aborted + 1);
  expect((await stored()).messages).toMatchObject(REPLIED);
  // The reply has ended, so another stop changes nothing.
  expect((await here.alice.post(stop)).status).toBe(200);
});

it('stores no reply that was stopped before its first word', async () => {
  const { stop, whole, stored } = await hanging('', { client: here.alice, token: ALICE });
  await here.alice.ok(here.alice.post(stop));
  expect(await whole()).toEqual(['session', 'error']);
  expect((await stored()).message_count).toBe(1);
});

it('stops a reply whose session is deleted', async () => {
  const aborted = here.model.aborted();
  const { stop, whole } = await hanging('A beginning', { client: here.alice, token: ALICE });
  await here.alice.ok(here.alice.del(stop.replace('/stop', '')));
  expect(await whole()).toEqual(['session', 'delta', 'error']);
  await until('the end of the request', async () => here.model.aborted() === aborted + 1);
});
