import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess, startWorkerProcess } from '../support/machine/processes.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { openaiAt } from '../support/peers/openai.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here?.stop());

/** The items of a conversation, oldest first. */
const itemsOf = async (client: OpenAI, id: string) => {
  const { data } = await client.conversations.items.list(id, { order: 'asc', limit: 100 });
  return data.map((item) => {
    const { role, content } = item as { role: string; content: { text: string }[] };
    return `${role}: ${content.map(({ text }) => text).join('')}`;
  });
};
const ended = (client: OpenAI, id: string) =>
  until('the end', async () => (await client.responses.retrieve(id)).status === 'completed', 60_000);
/** When the model is asked the next time. */
const asked = () => {
  const before = here.model.requests.length;
  return until('the model is asked', async () => here.model.requests.length > before);
};

it('has an answer once whose worker was killed', { timeout: 120_000 }, async () => {
  const alice = openaiAt(here.url, ALICE);
  const first = await startWorkerProcess(here.setting);
  const { id } = await alice.conversations.create();
  const model = await here.workflow();
  here.model.script(hangs('Half of '), says('All of it.'), says('Next.'));
  const begun = asked();
  const response = await alice.responses.create({ model, input: 'Say it.', conversation: id, background: true });
  await begun;
  await first.end('SIGKILL');
  expect(await itemsOf(alice, id)).toEqual([]);
  const second = await startWorkerProcess(here.setting);
  await ended(alice, response.id);
  const both = ['user: Say it.', 'assistant: All of it.'];
  expect(await itemsOf(alice, id)).toEqual(both);
  await alice.responses.create({ model, input: 'And then?', conversation: id });
  expect(await itemsOf(alice, id)).toEqual([...both, 'user: And then?', 'assistant: Next.']);
  await second.end('SIGKILL');
});

it('has an answer once whose API was killed, also if the request is repeated meanwhile', { timeout: 120_000 }, async () => {
  const worker = await startWorkerProcess(here.setting);
  const first = await startApiProcess(here.setting);
  const of = ({ client, token }: typeof first) => openaiAt(client.url, token);
  const name = await agentOf(await here.workflow());
  const { id } = await of(first).conversations.create();
  const answer = Promise.withResolvers<void>();
  here.model.script(says('It is done.', { until: answer.promise }));
  const ask = async (of_api: typeof first) => {
    const request = { model: name, input: 'Do it.', conversation: id, stream: true as const };
    const stream = await of(of_api).responses.create(request, { headers: { 'Idempotency-Key': 'api-killed' } });
    return stream[Symbol.asyncIterator]();
  };
  const cut = await ask(first);
  const { value: created } = await cut.next();
  await first.api.end('SIGKILL');
  const second = await startApiProcess(here.setting);
  expect(await itemsOf(of(second), id)).toEqual([]);
  const again = await ask(second);
  expect((await again.next()).value).toMatchObject({ type: 'response.created', response: { id: created.response.id } });
  answer.resolve();
  let last: OpenAI.Responses.ResponseStreamEvent | undefined;
  for (let next = await again.next(); !next.done; next = await again.next()) last = next.value;
  expect(last).toMatchObject({ type: 'response.completed', response: { output: [{ content: [{ text: 'It is done.' }] }] } });
  expect(await itemsOf(of(second), id)).toEqual(['user: Do it.', 'assistant: It is done.']);
  await second.api.end('SIGKILL');
  await worker.end('SIGKILL');
});

const agentOf = async (workflow_id: string): Promise<string> => {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  return (await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).name;
};
