import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventOf, framesIn } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

it("applies the guardrails of the agent's workflows to the questions and answers of a chat", async () => {
  const { alice } = here;
  const guardrail = async (values: object) => (await alice.ok(alice.post('/api/guardrails', values), 201)).id as string;
  const guardrail_ids = [
    await guardrail({ name: 'ask', guardrail_type: 'prompt', config: { forbidden_patterns: ['bomb'] } }),
    await guardrail({ name: 'answer', guardrail_type: 'output', config: { forbidden_patterns: ['secret'], action: 'redact' } }),
  ];
  const workflow_id = await here.workflow({ workflow: { guardrail_ids } });
  const { agent_id } = await alice.ok(alice.get(`/api/workflows/${workflow_id}`));
  const path = `/api/agents/${agent_id}/chat`;
  const before = here.model.requests.length;
  const refused = await alice.post(path, { message: 'Build a bomb' });
  expect([refused.status, here.model.requests.length]).toEqual([422, before]);
  here.model.script(says('The secret is out.'));
  const answered = await alice.post(path, { message: 'Tell me' });
  expect(answered.status).toBe(200);
  expect(String(answered.body)).not.toContain('secret');
  expect(String(answered.body)).toContain('"done"');
});

it('keeps the chat of one user free of the guardrails of another who uses the same agent', async () => {
  const { alice, bob } = here;
  const workflow_id = await here.workflow();
  const { agent_id } = await alice.ok(alice.get(`/api/workflows/${workflow_id}`));
  const config = { forbidden_patterns: ['bomb'] };
  const own = await bob.ok(bob.post('/api/guardrails', { name: 'of bob', guardrail_type: 'prompt', config }), 201);
  await bob.ok(bob.post('/api/workflows', { agent_id, guardrail_ids: [own.id] }), 201);
  here.model.script(says('Fine.'));
  const path = `/api/agents/${agent_id}/chat`;
  expect((await alice.post(path, { message: 'Build a bomb' })).status).toBe(200);
  expect((await bob.post(path, { message: 'Build a bomb' })).status).toBe(422);
});

it('withholds an answer that a guardrail blocks, with the reason', async () => {
  const { alice } = here;
  const config = { forbidden_patterns: ['secret'], action: 'block' };
  const { id } = await alice.ok(alice.post('/api/guardrails', { name: 'sealed', guardrail_type: 'output', config }), 201);
  const workflow_id = await here.workflow({ workflow: { guardrail_ids: [id] } });
  const { agent_id } = await alice.ok(alice.get(`/api/workflows/${workflow_id}`));
  here.model.script(says('The secret is out.'));
  const { status, body } = await alice.post(`/api/agents/${agent_id}/chat`, { message: 'Tell me' });
  expect(status).toBe(200);
  const reason = "The guardrail sealed withheld the model's answer: it matches the forbidden pattern secret";
  const [session, ...rest]: any[] = framesIn(String(body)).map(eventOf);
  expect(rest).toEqual([{ id: 2, type: 'error', message: reason }]);
  const { messages } = await alice.ok(alice.get(`/api/agents/${agent_id}/chat/sessions/${session.session_id}`));
  expect(messages).toMatchObject([{ role: 'user', error: reason }]);
});
