import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventOf, framesIn } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
let workflow_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  workflow_id = await here.workflow({ workflow: { output_format: 'markdown' } });
});
afterAll(() => here?.stop());

const CUT = 'A long text that was';
const cut = () => says(CUT, { finish: 'length' });

const read = async (path: string, body: object) => {
  const answer = await fetch(`${here.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return framesIn(await answer.text());
};

it('marks an answer that ended at the output limit on its task and message', async () => {
  here.model.script(cut(), says('Whole.'));
  const { id } = await here.ended(await here.prompt(workflow_id));
  const task = await here.alice.ok(here.alice.get(`/api/tasks/${id}`));
  expect(task).toMatchObject({ status: 'completed', response: CUT, truncated: true });
  expect(task.messages.find(({ kind }: { kind: string }) => kind === 'reply')).toMatchObject({ truncated: true });
  const whole = await here.ended(await here.prompt(workflow_id));
  expect(whole).toMatchObject({ response: 'Whole.', truncated: false });
});

it('marks it at /v1 as length, whole and streamed', async () => {
  const messages = [{ role: 'user', content: 'Write.' }];
  here.model.script(cut());
  const whole = await here.alice.ok(here.alice.post('/v1/chat/completions', { model: workflow_id, messages }));
  expect(whole.choices[0]).toMatchObject({ message: { content: CUT }, finish_reason: 'length' });
  here.model.script(cut());
  const chunks = (await read('/v1/chat/completions', { model: workflow_id, messages, stream: true }))
    .slice(0, -1)
    .map(eventOf) as any[];
  expect(chunks.at(-1)?.choices[0].finish_reason).toBe('length');
});

it('marks it as incomplete in responses, whole and streamed', async () => {
  const incomplete = {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ status: 'incomplete' }],
  };
  here.model.script(cut());
  const whole = await here.alice.ok(here.alice.post('/v1/responses', { model: workflow_id, input: 'Write.' }));
  expect(whole).toMatchObject(incomplete);
  here.model.script(cut());
  const last: any = (await read('/v1/responses', { model: workflow_id, input: 'Write.', stream: true })).map(eventOf).at(-1);
  expect(last).toMatchObject({ type: 'response.incomplete', response: incomplete });
});

it('marks it in a chat, also in the stored reply', async () => {
  const provider = { name: 'cut', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider));
  const { id } = await here.alice.ok(here.alice.post('/api/agents', { name: 'cut', provider_id, system_prompt: 'Hi.' }));
  here.model.script(cut());
  const events: any[] = (await read(`/api/agents/${id}/chat`, { message: 'Write.' })).map(eventOf);
  expect(events.at(-1)).toMatchObject({ type: 'done', truncated: true });
  const { messages } = await here.alice.ok(here.alice.get(`/api/agents/${id}/chat/sessions/${events[0].session_id}`));
  expect(messages.map(({ truncated }: { truncated: boolean }) => truncated)).toEqual([false, true]);
});

it('reports a finish reason that it does not know in the log of the run', async () => {
  here.model.script(says('Done.', { finish: 'satisfied' }));
  const { id } = await here.ended(await here.prompt(workflow_id));
  const { logs } = await here.alice.ok(here.alice.get(`/api/tasks/${id}`));
  const log = logs.find(({ event }: { event: string }) => event === 'model_response');
  expect(log).toMatchObject({ detail: 'satisfied', unknown: true });
});

/** The same answer from an endpoint that reports no usage. */
const withoutUsage =
  (answer: Answer): Answer =>
  async (response, request) => {
    const write = response.write.bind(response);
    const strip = (text: unknown) => String(text).replaceAll(/data: [^\n]*"usage":\{[^\n]*\n\n/g, '');
    response.write = ((text: unknown) => write(strip(text))) as typeof response.write;
    const end = response.end.bind(response);
    response.end = ((text: unknown) => end(strip(text ?? ''))) as typeof response.end;
    await answer(response, request);
  };

it('marks an estimate in a chat, also in the stored reply', async () => {
  const provider = { name: 'uncounted', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider));
  const { id } = await here.alice.ok(here.alice.post('/api/agents', { name: 'uncounted', provider_id, system_prompt: 'Hi.' }));
  here.model.script(withoutUsage(says('An answer of some words.')), says('Counted.'));
  const events: any[] = (await read(`/api/agents/${id}/chat`, { message: 'Write.' })).map(eventOf);
  expect(events.at(-1)).toMatchObject({ type: 'done', usage: { estimated: true, completion_tokens: 6 } });
  await read(`/api/agents/${id}/chat`, { message: 'Again.', session_id: events[0].session_id });
  const { messages } = await here.alice.ok(here.alice.get(`/api/agents/${id}/chat/sessions/${events[0].session_id}`));
  const estimates = messages.flatMap(({ usage }: { usage: object | null }) => (usage ? ['estimated' in usage] : []));
  expect(estimates).toEqual([true, false]);
});

it('counts an estimate where the endpoint reports no usage, and holds a budget with it', async () => {
  here.model.script(withoutUsage(says('An answer of some words.')));
  const { usage } = (await here.ended(await here.prompt(workflow_id))) as any;
  expect(usage).toMatchObject({ estimated: true, total_in: expect.any(Number), total_out: 6 });
  expect(usage.total_in).toBeGreaterThan(5);

  const budget = { max_tokens: 300, on_exhausted: 'halt' };
  const limited = await here.workflow({ workflow: { budget } });
  const again = withoutUsage(asks({ name: 'manage_todo_list', args: { note: 'x'.repeat(400) } }));
  here.model.script(again, again, again, again, again, again, again, again);
  expect(await here.ended(await here.prompt(limited))).toMatchObject({ status: 'halted', usage: { estimated: true } });
});
