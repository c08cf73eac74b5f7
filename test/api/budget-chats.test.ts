import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openBudgets, PRICES, usage } from '../support/runs/budgets.ts';
import { chatPath, startHangingReply } from '../support/runs/hanging-reply.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let made: ReturnType<typeof openBudgets>;
beforeAll(async () => {
  here = await startTestInstallation();
  made = openBudgets(here);
});
beforeEach(async () => {
  await here.sql('DELETE FROM budgets');
});
afterAll(() => here?.stop());

const chat = async (values: object = {}) => here.agent({ provider_id: await made.provider(values) });
const ask = async (agent_id: string) => String((await here.alice.post(chatPath(agent_id), { message: 'Talk.' })).body);

it('a reply counts what it has used, and the next question fails once the budget is used up', async () => {
  const agent_id = await chat();
  const mine = await made.budget({ limit_usd: 0.131 });
  here.model.script(says('All right.', usage(101, 31)));
  expect(await ask(agent_id)).toContain('"type":"done"');
  expect(await made.read(mine.id)).toMatchObject({ spent: 0.132, reserved: 0 });
  expect(await ask(agent_id)).toMatch(/The budget Team of 0.131 US dollars is used up until/);
});

it('a reply that is stopped counts what it has asked and written until then, as its message shows', async () => {
  const agent_id = await chat();
  const mine = await made.budget({ limit_tokens: 7_919 });
  const said = 'A beginning of a reply that has many words, and then more of them';
  const { stop, whole, stored } = await startHangingReply(here, { agent_id, said, client: here.alice, token: ALICE });
  expect((await made.read(mine.id)).reserved).toBeGreaterThan(4_096);
  await here.alice.ok(here.alice.post(stop));
  await whole();
  await until('the release', async () => (await made.reservations()).length === 0);
  const { spent } = await made.read(mine.id);
  expect(spent).toBeGreaterThan(said.length / 6);
  expect(spent).toBeLessThan(said.length);
  const { usage } = (await stored()).messages.at(-1);
  expect(usage.prompt_tokens + usage.completion_tokens).toBe(spent);
});

it('the reply of another model without a price counts what was reserved', async () => {
  // The endpoint answers as `scripted`.
  const agent_id = await chat({ default_model: 'gateway-7', price_table: { 'gateway-7': PRICES['*'] } });
  const mine = await made.budget({ limit_usd: 53 });
  let reserved = 0;
  here.model.script(async (response, request) => {
    reserved = (await made.read(mine.id)).reserved;
    await says('All right.')(response, request);
  });
  expect(await ask(agent_id)).toContain('"type":"done"');
  expect(reserved).toBeGreaterThan(4.096);
  expect((await made.read(mine.id)).spent).toBeCloseTo(reserved, 9);
});
