import { afterAll, beforeAll, expect, it } from 'vitest';
import { estimateTokens } from '../../src/domain/context-window.ts';
import type { Client } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { chatPath, createChatAgent, STOPPED, startHangingReply } from '../support/runs/hanging-reply.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  agent_id = await createChatAgent(here);
});
afterAll(() => here?.stop());

const hanging = (said: string, by: { client: Client; token: string; usage?: object }) =>
  startHangingReply(here, { agent_id, said, ...by });

it('stops a reply, keeps the text so far, and ends the request to the model', async () => {
  const aborted = here.model.aborted();
  const { stop, whole, stored } = await hanging('A beginning', { client: here.alice, token: ALICE });
  expect((await here.bob.post(stop)).status).toBe(403);
  expect((await here.alice.post(stop)).body).toEqual({ status: 'stop_requested', session_id: (await stored()).id });
  expect(await whole()).toEqual(['session', 'delta', 'done']);
  await until('the end of the request', async () => here.model.aborted() === aborted + 1);
  expect((await stored()).messages).toMatchObject(STOPPED);
  // The reply has ended, so another stop changes nothing.
  expect((await here.alice.post(stop)).status).toBe(200);
});

it('keeps what the endpoint had reported, and an estimate of what it wrote since', async () => {
  const usage = { prompt_tokens: 101, completion_tokens: 7 };
  const { stop, whole, stored } = await hanging('A beginning', { client: here.alice, token: ALICE, usage });
  await here.alice.ok(here.alice.post(stop));
  await whole();
  const written = estimateTokens('A beginning');
  expect(written).toBeGreaterThan(1);
  const counted = { prompt_tokens: 101, completion_tokens: 7 + written, estimated: true };
  expect((await stored()).messages).toMatchObject([{ usage: null }, { content: 'A beginning', usage: counted }]);
});

it('estimates all of it if the endpoint had reported nothing', async () => {
  const { stop, whole, stored } = await hanging('A beginning', { client: here.alice, token: ALICE });
  await here.alice.ok(here.alice.post(stop));
  await whole();
  const { prompt_tokens, ...output } = (await stored()).messages[1].usage;
  expect(output).toEqual({ completion_tokens: estimateTokens('A beginning'), estimated: true });
  expect(prompt_tokens).toBeGreaterThanOrEqual(estimateTokens('Talk.'));
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
  // Its end may be read before the session is gone.
  expect([
    ['session', 'delta', 'done'],
    ['session', 'delta', 'error'],
  ]).toContainEqual(await whole());
  await until('the end of the request', async () => here.model.aborted() === aborted + 1);
  expect((await here.alice.get(stop.replace('/stop', ''))).status).toBe(404);
  expect(await here.alice.ok(here.alice.get(`${chatPath(agent_id)}/sessions`))).not.toContainEqual(
    expect.objectContaining({ id: stop.split('/').at(-2) }),
  );
});
