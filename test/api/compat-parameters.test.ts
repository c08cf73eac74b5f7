import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, says } from '../support/peers/model-server.ts';
import { refusal } from '../support/peers/openai.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  const client = (apiKey: string) => new OpenAI({ baseURL: `${here.url}/v1`, apiKey });
  alice = client(here.people.alice.token);
  bob = client(here.people.bob.token);
});
afterAll(() => here.stop());

const messages = [{ role: 'user' as const, content: 'x' }];
const tasksOf = (workflow_id: string) => here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`));
const scoresOf = (completion_id: string) =>
  here.alice.ok(here.alice.get(`/api/tasks/${completion_id.replace('chatcmpl-', '')}/scores`));

const UNHONOURED: Record<string, unknown> = {
  tools: [{ type: 'web_search' }],
  tool_choice: 'required',
  response_format: { type: 'grammar' },
  n: 2,
  temperature: 0,
  top_p: 0.5,
  max_tokens: 10,
  max_completion_tokens: 10,
  stop: ['END'],
  logprobs: true,
  metadata: { a: 'b' },
};

describe('a parameter that a run would not honour', () => {
  it.each(Object.entries(UNHONOURED))('%s is refused by name, and no run starts', async (param, value) => {
    const model = await here.workflow();
    const refused = await refusal(alice.chat.completions.create({ model, messages, [param]: value } as never));
    expect(refused).toMatchObject({ status: 400, code: 'unsupported_value', param, type: 'invalid_request_error' });
    expect(await tasksOf(model)).toEqual([]);
  });

  it.each(['max_output_tokens', 'max_tool_calls'])('%s of a response is refused', async (param) => {
    const model = await here.workflow();
    const refused = await refusal(alice.responses.create({ model, input: 'x', [param]: 'resp_1' } as never));
    expect(refused).toMatchObject({ status: 400, code: 'unsupported_value', param });
    expect(await tasksOf(model)).toEqual([]);
  });

  it('is refused if nobody knows it', async () => {
    const model = await here.workflow();
    const refused = await refusal(alice.chat.completions.create({ model, messages, temprature: 1 } as never));
    expect(refused).toMatchObject({ status: 400, code: 'unknown_parameter', param: 'temprature' });
  });

  it('is accepted with the value that asks for what happens anyway', async () => {
    const model = await here.workflow();
    here.model.script(says('Once.'), says('Twice.'));
    const usual = {
      n: 1,
      tools: [],
      tool_choice: 'auto',
      response_format: { type: 'text' },
      temperature: 1,
      top_p: null,
      user: 'u',
    };
    const completion = await alice.chat.completions.create({ model, messages, ...usual } as never);
    expect(completion.choices[0]?.message.content).toBe('Once.');
    const text = { text: { format: { type: 'text' } }, tools: [], store: true, include: [], previous_response_id: null };
    expect((await alice.responses.create({ model, input: 'x', ...text } as never)).output_text).toBe('Twice.');
  });
});

it('a run that failed is not started again by a client that retries', async () => {
  const model = await here.workflow();
  here.model.script(fails(400));
  const failed = await refusal(alice.chat.completions.create({ model, messages }));
  expect(failed).toMatchObject({ status: 502 });
  expect(await tasksOf(model)).toHaveLength(1);
});

it('a model is looked up by the name of an agent, or by the id of a workflow of the caller', async () => {
  const id = await here.workflow({ workflow: { title: 'Weekly report' } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  expect(await alice.models.retrieve(id)).toMatchObject({ id, name: 'Weekly report', object: 'model' });
  expect(await alice.models.retrieve(name)).toMatchObject({ id: name, name });
  expect((await alice.models.list()).data).toEqual(expect.arrayContaining([await alice.models.retrieve(id)]));
  expect(await refusal(bob.models.retrieve(id))).toMatchObject({ status: 403 });
  expect(await refusal(alice.models.retrieve('nobody'))).toMatchObject({ status: 404, code: 'model_not_found' });
});

describe('a completion', () => {
  it('is scored by its metadata', async () => {
    const model = await here.workflow();
    here.model.script(says('May.'));
    const { id } = await alice.chat.completions.create({ model, messages });
    const down = { score: 'down', note: 'It named the wrong month.' };
    expect(await alice.chat.completions.update(id, { metadata: down })).toMatchObject({ id, metadata: down });
    await alice.chat.completions.update(id, { metadata: { score: '-0.5' } });
    expect(await scoresOf(id)).toMatchObject([
      { thumb: null, value: -0.5, note: '' },
      { thumb: 'down', value: null, note: 'It named the wrong month.' },
    ]);
    const repeated = { headers: { 'idempotency-key': 'score-1' } };
    await alice.chat.completions.update(id, { metadata: { score: '3' } }, repeated);
    await alice.chat.completions.update(id, { metadata: { score: '3' } }, repeated);
    expect(await scoresOf(id)).toHaveLength(3);
  });

  it.each([{ score: 'maybe' }, { note: 'x' }, { score: 'up', other: 'x' }, { score: '1e400' }])(
    'is not scored by %o',
    async (metadata) => {
      const model = await here.workflow();
      here.model.script(says('May.'));
      const { id } = await alice.chat.completions.create({ model, messages });
      expect(await refusal(alice.chat.completions.update(id, { metadata } as never))).toMatchObject({ status: 422 });
      expect(await scoresOf(id)).toEqual([]);
    },
  );

  it('is not scored by someone else', async () => {
    const model = await here.workflow();
    here.model.script(says('May.'));
    const { id } = await alice.chat.completions.create({ model, messages });
    expect(await refusal(bob.chat.completions.update(id, { metadata: { score: 'up' } }))).toMatchObject({ status: 403 });
    expect(await scoresOf(id)).toEqual([]);
  });
});
