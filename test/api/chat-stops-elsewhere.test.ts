import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess } from '../support/machine/processes.ts';
import { says } from '../support/peers/model-server.ts';
import { chatPath, createChatAgent, STOPPED, startHangingReply } from '../support/runs/hanging-reply.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = await createChatAgent(here);
});
afterAll(() => here?.stop());

const hanging = (said: string, by: { client: Client; token: string }) => startHangingReply(here, { agent_id, said, ...by });

it('stops a reply that another API process is writing', { timeout: 60_000 }, async () => {
  const [writer, other] = await Promise.all([startApiProcess(here.setting), startApiProcess(here.setting)]);
  const { stop, whole, stored } = await hanging('A beginning', writer);
  await other.client.ok(other.client.post(stop));
  expect(await whole()).toEqual(['session', 'delta', 'done']);
  expect((await stored()).messages).toMatchObject(STOPPED);
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
  expect(messages).toMatchObject(STOPPED);
  here.model.script(says('It continues.', { pause_ms: 1_000 }));
  const later = await writer.client.post(chatPath(agent_id), { message: 'And?', session_id });
  expect(later.body).toContain('"type":"done"');
  expect((await stored()).messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It continues.' });
  await Promise.all([writer.api.end('SIGTERM'), other.api.end('SIGTERM')]);
});
