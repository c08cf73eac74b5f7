import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess } from '../support/machine/processes.ts';
import { hangs, says } from '../support/peers/model-server.ts';
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

it('stops a reply that another API process is writing', { timeout: 60_000 }, async () => {
  const [writer, other] = await Promise.all([startApiProcess(here.setting), startApiProcess(here.setting)]);
  const { stop, whole, stored } = await hanging('A beginning', writer);
  await other.client.ok(other.client.post(stop));
  expect(await whole()).toEqual(['session', 'delta', 'done']);
  expect((await stored()).messages).toMatchObject(REPLIED);
  await Promise.all([writer.api.end('SIGTERM'), other.api.end('SIGTERM')]);
});

/** No process reaches the bus, so no notice reaches another one. */
const WITHOUT_NOTICES = { REDIS_URL: 'redis://127.0.0.1:1' };

it('stops a reply that another API process is writing, although no notice reaches it, and no later reply', {
  timeout: 60_000,
}, async () => {
  const [writer, other] = await Promise.all([
    startApiProcess(here.setting, WITHOUT_NOTICES),
    startApiProcess(here.setting, WITHOUT_NOTICES),
  ]);
  const aborted = here.model.aborted();
  const { stop, whole, stored } = await hanging('A beginning', writer);
  await other.client.ok(other.client.post(stop));
  expect(await whole()).toEqual(['session', 'delta', 'done']);
  expect(here.model.aborted()).toBe(aborted + 1);
  const { id: session_id, messages } = await stored();
  expect(messages).toMatchObject(REPLIED);
  here.model.script(says('It continues.', { pause_ms: 1_000 }));
  const later = await writer.client.post(path(agent_id), { message: 'And?', session_id });
  expect(later.body).toContain('"type":"done"');
  expect((await stored()).messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It continues.' });
  await Promise.all([writer.api.end('SIGTERM'), other.api.end('SIGTERM')]);
});
